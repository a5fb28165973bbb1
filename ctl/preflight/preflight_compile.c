/*
 * What pgflow.ensure_deployment would say of each module, in the order given: the rules of
 * _deployment_differences, _check_new_name, _check_known_queues and _check_unknown_queues
 * (sql/core/20_definitions, 25_deployments) on the state of the snapshot.
 */
#include "ctl/preflight/preflight.h"

#include "ctl/author/flow_difference.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct module_check {
    struct preflight *preflight;
    const struct deployment *module;
    bool differs;
};

static void on_line(void *ctx, enum flow_line_kind kind, const char *text)
{
    static const enum finding_kind kinds[] = {
        [FLOW_DIFFERS] = FOUND_DIFFERENCE,
        [FLOW_OPTION_DIFFERS] = FOUND_OPTION_DRIFT,
        [FLOW_WITHOUT_CONTRACT] = FOUND_NO_CONTRACT,
    };
    struct module_check *check = ctx;
    struct findings *findings = &check->preflight->findings;
    const char *flow = check->module->flow;

    finding_add(findings, kinds[kind], flow, NULL, NULL);
    switch (kind) {
    case FLOW_DIFFERS:
        check->differs = true;
        finding_say(findings, "differs from what is compiled: %s", text);
        finding_remedy(findings, "a compiled flow never changes: give the changed flow a new slug");
        break;
    case FLOW_OPTION_DIFFERS:
        finding_say(findings, "%s; the database keeps its own", text);
        finding_remedy(findings, "pgflowctl options %s, then --apply", flow);
        break;
    case FLOW_WITHOUT_CONTRACT:
        finding_say(findings,
                    "%s has no contract, so nothing tells whether its handler still reads and "
                    "writes the same",
                    text);
        break;
    case FLOW_LINE_KINDS:
        break;
    }
}

/* The lines of a flow that is compiled anew are no problems: they are why. */
static void take_differences_back(struct findings *findings, size_t from)
{
    for (size_t i = from; i < findings->count; i++)
        if (findings->items[i].kind == FOUND_DIFFERENCE)
            findings->items[i].kind = FOUND_RECOMPILED;
}

/* Where queues are gone that a compiled flow has. */
static void check_own_queues(struct preflight *preflight, const struct deployment *module)
{
    for (size_t i = 0; i < module->step_count; i++) {
        const char *name = module->steps[i].queue;
        const struct snapshot_queue *queue = snapshot_queue(preflight->snapshot, name);
        if (queue != NULL && queue->spellings > 0)
            continue;
        finding_add(&preflight->findings, FOUND_BAD_QUEUE, module->flow, module->steps[i].slug,
                    name);
        finding_say(&preflight->findings, "PGMQ no longer lists queue %s", name);
        finding_remedy(&preflight->findings,
                       "restore it, or make it anew: select pgmq.create('%s')", name);
    }
}

static bool is_name_taken(const char *flow, const char *alias, const char *slug,
                          const char *new_alias)
{
    return strcasecmp(flow, slug) == 0 || strcasecmp(flow, new_alias) == 0 ||
           strcasecmp(alias, slug) == 0 ||
           (strcasecmp(alias, new_alias) == 0 && strcmp(alias, new_alias) != 0);
}

static void say_taken(struct preflight *preflight, const struct deployment *module,
                      const char *flow, const char *alias)
{
    finding_add(&preflight->findings, FOUND_NAME_TAKEN, module->flow, NULL, NULL);
    finding_say(&preflight->findings,
                "with alias %s it cannot be made: a name is taken by flow %s with alias %s",
                module->alias, flow, alias);
    finding_remedy(&preflight->findings,
                   "choose another slug or alias: both are one namespace, whatever the case");
}

static void check_names(struct preflight *preflight, size_t at)
{
    const struct snapshot *snapshot = preflight->snapshot;
    const struct deployment *module = registry_deployment(preflight->registry, at);

    for (size_t i = 0; i < snapshot->flow_count; i++) {
        const struct snapshot_flow *flow = &snapshot->flows[i];
        if (strcmp(flow->slug, module->flow) != 0 &&
            is_name_taken(flow->slug, flow->alias, module->flow, module->alias)) {
            say_taken(preflight, module, flow->slug, flow->alias);
            return;
        }
    }
    for (size_t i = 0; i < at; i++) {
        const struct deployment *before = registry_deployment(preflight->registry, i);
        if (is_name_taken(before->flow, before->alias, module->flow, module->alias)) {
            say_taken(preflight, module, before->flow, before->alias);
            return;
        }
    }
}

static bool is_adopted(const struct preflight *preflight, const char *queue)
{
    size_t size = strlen(queue);
    for (const char *at = preflight->adopt; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, ",");
        if (length == size && strncasecmp(at, queue, size) == 0)
            return true;
        at += length + (at[length] == ',');
    }
    return false;
}

static const char *kind_of(const struct deployment *module)
{
    return module->mode == QUEUE_MODE_ROUTED ? "shared" : queue_mode_name(module->mode);
}

/* Who makes the queue before this module: the database, or an earlier module. */
static const struct deployment *maker(const struct preflight *preflight, size_t at,
                                      const char *queue)
{
    for (size_t i = 0; i < at; i++) {
        const struct deployment *before = registry_deployment(preflight->registry, i);
        for (size_t s = 0; s < before->step_count; s++)
            if (strcmp(before->steps[s].queue, queue) == 0)
                return before;
    }
    return NULL;
}

/* NULL: the queue serves. */
static const char *queue_trouble(const struct preflight *preflight, size_t at, const char *name)
{
    const struct deployment *module = registry_deployment(preflight->registry, at);
    const struct snapshot_queue *queue = snapshot_queue(preflight->snapshot, name);
    bool wants_shared = module->mode == QUEUE_MODE_ROUTED;
    const char *kind = queue != NULL ? queue->kind : "";
    const char *owner = queue != NULL ? queue->owner : "";
    const struct deployment *before = kind[0] == '\0' ? maker(preflight, at, name) : NULL;

    if (kind[0] == '\0' && before != NULL) {
        kind = kind_of(before);
        owner = before->mode == QUEUE_MODE_ROUTED ? "" : before->flow;
    } else if (queue != NULL && kind[0] == '\0') {
        if (queue->spellings > 1)
            return "exists in PGMQ in spellings that differ only by case";
        if (!wants_shared)
            return "exists in PGMQ and cannot become a private queue";
        return is_adopted(preflight, name)
                   ? NULL
                   : "exists in PGMQ and is unknown to pgflow (pgflow-host --adopt-queue)";
    } else if (queue != NULL && queue->spellings == 0 && strcmp(owner, module->flow) != 0) {
        return "is known to pgflow, but PGMQ no longer lists it";
    }
    if (kind[0] == '\0' || strcmp(owner, module->flow) == 0)
        return NULL;
    if (strcmp(kind, "shared") == 0)
        return wants_shared ? NULL : "is shared and cannot become private";
    return "is private to another flow";
}

static void check_new_queues(struct preflight *preflight, size_t at)
{
    const struct deployment *module = registry_deployment(preflight->registry, at);
    for (size_t i = 0; i < module->step_count; i++) {
        const char *name = module->steps[i].queue;
        const char *trouble = queue_trouble(preflight, at, name);
        if (trouble == NULL)
            continue;
        finding_add(&preflight->findings, FOUND_BAD_QUEUE, module->flow, module->steps[i].slug,
                    name);
        finding_say(&preflight->findings, "queue %s %s", name, trouble);
        finding_remedy(&preflight->findings, "route the step to another queue, or choose another "
                                             "slug");
    }
}

/* In a developer's database: what differs is deleted and made anew. */
static bool recompile(struct preflight *preflight, const struct snapshot_flow *flow, size_t at,
                      size_t found, struct error *error)
{
    const struct deployment *module = registry_deployment(preflight->registry, at);
    if (strcmp(flow->alias, module->alias) != 0)
        return error_set(error, ERROR_CONFIG,
                         "cannot tell: the database would compile %s anew under another alias, and "
                         "which version of %s then becomes active is not in the snapshot",
                         flow->slug, flow->alias);
    take_differences_back(&preflight->findings, found);
    check_names(preflight, at);
    check_new_queues(preflight, at);
    return true;
}

static bool check_module(struct preflight *preflight, size_t at, struct error *error)
{
    struct module_check check = {.preflight = preflight,
                                 .module = registry_deployment(preflight->registry, at)};
    const struct snapshot_flow *flow = snapshot_flow(preflight->snapshot, check.module->flow);
    size_t found = preflight->findings.count;
    struct json_view view;

    if (flow == NULL) {
        check_names(preflight, at);
        check_new_queues(preflight, at);
        return true;
    }
    const char *document = check.module->document;
    if (!json_view_open(&view, document, strlen(document), error) ||
        !flow_compare(flow->deployment, view, on_line, &check, error))
        return false;
    if (!check.differs)
        check_own_queues(preflight, check.module);
    else if (preflight->snapshot->is_local)
        return recompile(preflight, flow, at, found, error);
    return true;
}

bool preflight_recompiles(const struct preflight *preflight, const char *flow)
{
    for (size_t i = 0; i < preflight->findings.count; i++)
        if (preflight->findings.items[i].kind == FOUND_RECOMPILED &&
            strcmp(preflight->findings.items[i].flow, flow) == 0)
            return true;
    return false;
}

bool preflight_compile(struct preflight *preflight, struct error *error)
{
    for (size_t i = 0; i < registry_count(preflight->registry); i++)
        if (!check_module(preflight, i, error))
            return false;
    return true;
}
