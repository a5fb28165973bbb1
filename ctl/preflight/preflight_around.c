/*
 * What goes along with a verdict: aliases that would move, queues that would lose their server, and
 * what a verdict of this moment cannot know.
 */
#include "ctl/preflight/preflight.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The test of _switch_gaps for one queue of a flow: NULL, or why the switch waits. */
static const char *gap_of_queue(const struct preflight *preflight, const struct deployment *module,
                                const char *queue)
{
    const struct snapshot *snapshot = preflight->snapshot;
    bool served = strcmp(queue, registry_queue(preflight->registry)) == 0;

    for (size_t i = 0; i < snapshot->host_count; i++) {
        const struct snapshot_host *host = &snapshot->hosts[i];
        if (!snapshot_host_works(host, queue))
            continue;
        served = true;
        for (size_t s = 0; s < module->step_count; s++)
            if (strcmp(module->steps[s].queue, queue) == 0 &&
                !snapshot_host_has(host, module->flow, module->steps[s].slug))
                return "a live host there does not run it";
    }
    return served ? NULL : "no live host is there";
}

static bool is_first_on_queue(const struct deployment *module, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(module->steps[i].queue, module->steps[at].queue) == 0)
            return false;
    return true;
}

static void put_gaps(struct buf *text, const struct preflight *preflight,
                     const struct deployment *module)
{
    for (size_t i = 0; i < module->step_count; i++) {
        const char *queue = module->steps[i].queue;
        const char *gap =
            is_first_on_queue(module, i) ? gap_of_queue(preflight, module, queue) : NULL;
        if (gap != NULL)
            buf_printf(text, "%s queue %s (%s)", text->size > 0 ? "," : "; it waits for", queue,
                       gap);
    }
}

static void say_offer(struct preflight *preflight, const struct deployment *module,
                      const struct snapshot_flow *active)
{
    struct buf gaps;
    buf_init(&gaps, LIMIT_KIB * 4);
    put_gaps(&gaps, preflight, module);
    finding_add(&preflight->findings, FOUND_ACTIVATION, module->flow, NULL, NULL);
    finding_say(&preflight->findings,
                "offers itself for alias %s in place of %s (--activate auto; an operator's login "
                "moves it, else pgflowctl activate)%s",
                module->alias, active->slug, gaps.data);
    buf_free(&gaps);
}

static void look_at_alias(struct preflight *preflight, const struct deployment *module)
{
    const struct snapshot_flow *active = snapshot_active(preflight->snapshot, module->alias);
    const struct snapshot_flow *stored = snapshot_flow(preflight->snapshot, module->flow);

    if (!module->last_of_alias || (active != NULL && strcmp(active->slug, module->flow) == 0))
        return;
    if (stored != NULL && (stored->superseded || !stored->in_service)) {
        finding_add(&preflight->findings, FOUND_ACTIVATION, module->flow, NULL, NULL);
        finding_say(&preflight->findings, "is %s and takes no new runs of alias %s",
                    stored->in_service ? "superseded" : "retired", module->alias);
    } else if (active != NULL) {
        say_offer(preflight, module, active);
    } else {
        finding_add(&preflight->findings, FOUND_ACTIVATION, module->flow, NULL, NULL);
        finding_say(&preflight->findings,
                    "alias %s has no active version: it becomes active at the start of the first "
                    "host",
                    module->alias);
    }
}

static bool is_needed(const struct snapshot *snapshot, const char *queue)
{
    for (size_t i = 0; i < snapshot->need_count; i++)
        if (strcmp(snapshot->needs[i].queue, queue) == 0)
            return true;
    return false;
}

static bool is_given_alias(const struct preflight *preflight, const char *flow)
{
    const struct snapshot_flow *stored = snapshot_flow(preflight->snapshot, flow);
    for (size_t i = 0; stored != NULL && i < registry_count(preflight->registry); i++)
        if (strcmp(registry_deployment(preflight->registry, i)->alias, stored->alias) == 0)
            return true;
    return false;
}

/* Whether it goes when these modules replace those of their aliases, or their function moves. */
static bool is_replaced(const struct preflight *preflight, const struct snapshot_host *host)
{
    struct json_walk walk = json_view_walk(host->pairs);
    char flow[LIMIT_SLUG + 1], step[LIMIT_SLUG + 1];
    bool any = false;

    if (strcmp(host->function, preflight->function) == 0)
        return true;
    while (snapshot_next_pair(&walk, flow, step)) {
        any = true;
        if (!is_given_alias(preflight, flow))
            return false;
    }
    return any;
}

static bool is_given_queue(const struct preflight *preflight, const char *queue)
{
    for (size_t i = 0; i < registry_count(preflight->registry); i++) {
        const struct deployment *module = registry_deployment(preflight->registry, i);
        for (size_t s = 0; s < module->step_count; s++)
            if (strcmp(module->steps[s].queue, queue) == 0)
                return true;
    }
    return false;
}

/* A queue on which no given module has a step, and whose every host goes. */
static void look_at_server(struct preflight *preflight, const char *queue)
{
    const struct snapshot *snapshot = preflight->snapshot;
    const struct snapshot_host *lost = NULL;

    if (is_given_queue(preflight, queue) || !is_needed(snapshot, queue))
        return;
    for (size_t i = 0; i < snapshot->host_count; i++) {
        if (!snapshot_host_works(&snapshot->hosts[i], queue))
            continue;
        if (!is_replaced(preflight, &snapshot->hosts[i]))
            return;
        lost = &snapshot->hosts[i];
    }
    if (lost == NULL)
        return;
    finding_add(&preflight->findings, FOUND_LOST_SERVER, NULL, NULL, queue);
    finding_say(&preflight->findings,
                "is needed, and loses its only server, the hosts of function %s, when they get "
                "these modules: none has a step there",
                lost->function);
    finding_remedy(&preflight->findings,
                   "leave hosts with the old modules on it until it has drained: pgflowctl "
                   "coverage %s",
                   queue);
}

static void look_at_other_queues(struct preflight *preflight, const struct deployment *module)
{
    const struct snapshot *snapshot = preflight->snapshot;
    for (size_t i = 0; i < module->step_count; i++) {
        const char *queue = module->steps[i].queue;
        bool served = strcmp(queue, registry_queue(preflight->registry)) == 0;
        for (size_t h = 0; h < snapshot->host_count; h++)
            served = served || snapshot_host_works(&snapshot->hosts[h], queue);
        if (served || !is_first_on_queue(module, i))
            continue;
        finding_add(&preflight->findings, FOUND_UNSERVED_QUEUE, module->flow, NULL, queue);
        finding_say(&preflight->findings,
                    "has steps on queue %s, which no live host serves; preflight --queue %s judges "
                    "that one",
                    queue, queue);
    }
}

static bool is_given(const struct preflight *preflight, const char *flow)
{
    for (size_t i = 0; i < registry_count(preflight->registry); i++) {
        const struct deployment *module = registry_deployment(preflight->registry, i);
        if (strcmp(module->flow, flow) == 0)
            return true;
    }
    return false;
}

/* A flow in service that nothing needs now: a start by its own slug would. */
static void look_at_later_start(struct preflight *preflight, const struct snapshot_flow *flow)
{
    const char *queue = registry_queue(preflight->registry);
    struct json_view steps, step, its_queue;

    if (!flow->in_service || flow->active || is_given(preflight, flow->slug) ||
        !json_view_member(flow->deployment, "steps", &steps))
        return;
    struct json_walk walk = json_view_walk(steps);
    while (json_walk_element(&walk, &step)) {
        if (!json_view_member(step, "queue", &its_queue) || its_queue.size != strlen(queue) + 2 ||
            memcmp(its_queue.text + 1, queue, its_queue.size - 2) != 0)
            continue;
        finding_add(&preflight->findings, FOUND_LATER_START, flow->slug, NULL, queue);
        finding_say(&preflight->findings,
                    "is in service and not given: a run that is started later by this slug, not by "
                    "alias %s, would need it here",
                    flow->alias);
        finding_remedy(&preflight->findings, "pgflowctl retire %s", flow->slug);
        return;
    }
}

static void look_at_hosts_without_pairs(struct preflight *preflight)
{
    const char *queue = registry_queue(preflight->registry);
    const struct snapshot *snapshot = preflight->snapshot;
    for (size_t i = 0; i < snapshot->host_count; i++) {
        const struct snapshot_host *host = &snapshot->hosts[i];
        struct json_walk walk = json_view_walk(host->pairs);
        struct json_view pair;
        if (!snapshot_host_works(host, queue) || json_walk_element(&walk, &pair))
            continue;
        finding_add(&preflight->findings, FOUND_HOSTS_WITHOUT_PAIRS, NULL, NULL, queue);
        finding_say(&preflight->findings,
                    "%" PRIu64 " live host%s of function %s registered no pairs: nothing shows "
                    "what they run, and they take messages of this queue",
                    host->hosts, host->hosts == 1 ? "" : "s", host->function);
    }
}

void preflight_look_around(struct preflight *preflight)
{
    const struct snapshot *snapshot = preflight->snapshot;

    for (size_t i = 0; i < registry_count(preflight->registry); i++) {
        const struct deployment *module = registry_deployment(preflight->registry, i);
        look_at_alias(preflight, module);
        look_at_other_queues(preflight, module);
    }
    for (size_t i = 0; i < snapshot->queue_count; i++)
        look_at_server(preflight, snapshot->queues[i].name);
    for (size_t i = 0; i < snapshot->flow_count; i++)
        look_at_later_start(preflight, &snapshot->flows[i]);
    look_at_hosts_without_pairs(preflight);
}
