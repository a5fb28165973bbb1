#include "ctl/preflight/preflight.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const preflight_words[PREFLIGHT_VERDICTS] = {
    [PREFLIGHT_SAFE] = "safe",
    [PREFLIGHT_SAFE_BESIDE_LIVE] = "safe_beside_live",
    [PREFLIGHT_NOT_SAFE] = "not_safe",
};

static uint64_t live_hosts_of(const struct snapshot *snapshot, const struct snapshot_need *need)
{
    uint64_t count = 0;
    for (size_t i = 0; i < snapshot->host_count; i++)
        if (snapshot_host_works(&snapshot->hosts[i], need->queue) &&
            snapshot_host_has(&snapshot->hosts[i], need->flow, need->step))
            count += snapshot->hosts[i].hosts;
    return count;
}

static void put_waiting(struct buf *text, const char *reason, uint64_t count, bool at_least,
                        const char *unit)
{
    buf_printf(text, "%s%s, %s%" PRIu64 " %s%s", text->size > 0 ? "; " : "", reason,
               at_least ? "at least " : "", count, unit, count == 1 ? "" : "s");
}

static void say_what_waits(struct preflight *preflight, const struct snapshot_need *need)
{
    struct buf text;
    buf_init(&text, LIMIT_KIB);
    if (need->reasons[NEEDED_ACTIVE])
        buf_puts(&text, "active, its alias points at it");
    if (need->reasons[NEEDED_DRAINING])
        put_waiting(&text, "draining", need->runs, need->runs_at_least, "run");
    if (need->reasons[NEEDED_EXECUTABLE] || need->reasons[NEEDED_RECOVERABLE])
        put_waiting(&text,
                    !need->reasons[NEEDED_RECOVERABLE]  ? "executable"
                    : !need->reasons[NEEDED_EXECUTABLE] ? "recoverable"
                                                        : "executable and recoverable",
                    need->tasks, need->tasks_at_least, "task");
    if (need->oldest[0] != '\0')
        buf_printf(&text, "; oldest since %.19s", need->oldest);
    finding_say(&preflight->findings, "%s", text.data);
    buf_free(&text);
}

static void say_remedy(struct preflight *preflight, const struct snapshot_need *need)
{
    const struct snapshot_flow *flow = snapshot_flow(preflight->snapshot, need->flow);
    const char *alias = flow != NULL ? flow->alias : need->flow;
    bool has_work = need->reasons[NEEDED_DRAINING] || need->reasons[NEEDED_EXECUTABLE] ||
                    need->reasons[NEEDED_RECOVERABLE];

    if (need->reasons[NEEDED_ACTIVE] && !has_work)
        finding_remedy(&preflight->findings,
                       "give the module of %s too (old versions first), or first activate another "
                       "version of %s: pgflowctl activate",
                       need->flow, alias);
    else if (need->reasons[NEEDED_ACTIVE])
        finding_remedy(&preflight->findings,
                       "give the module of %s too (old versions first): it takes new runs of %s",
                       need->flow, alias);
    else
        finding_remedy(&preflight->findings,
                       "give the module of %s too (old versions first), or wait until it has "
                       "drained: pgflowctl drain %s --wait",
                       need->flow, need->flow);
}

static void say_missing(struct preflight *preflight, const struct snapshot_need *need)
{
    uint64_t live = preflight->beside_live ? live_hosts_of(preflight->snapshot, need) : 0;

    finding_add(&preflight->findings, live > 0 ? FOUND_BESIDE : FOUND_MISSING_PAIR, need->flow,
                need->step, need->queue);
    if (preflight->findings.failed)
        return;
    preflight->findings.items[preflight->findings.count - 1].need = need;
    say_what_waits(preflight, need);
    if (live > 0)
        finding_remedy(&preflight->findings,
                       "%" PRIu64 " live host%s of the queue can run it; hosts with these modules "
                       "alone do not start before nothing waits for it",
                       live, live == 1 ? "" : "s");
    else
        say_remedy(preflight, need);
}

static void check_needs(struct preflight *preflight)
{
    const char *queue = registry_queue(preflight->registry);
    for (size_t i = 0; i < preflight->snapshot->need_count; i++) {
        const struct snapshot_need *need = &preflight->snapshot->needs[i];
        if (strcmp(need->queue, queue) == 0 &&
            registry_find(preflight->registry, need->flow, need->step) == NULL &&
            !preflight_recompiles(preflight, need->flow))
            say_missing(preflight, need);
    }
}

bool preflight_judge(struct preflight *preflight, enum preflight_verdict *verdict,
                     struct error *error)
{
    struct findings *findings = &preflight->findings;

    if (!preflight_compile(preflight, error))
        return false;
    check_needs(preflight);
    preflight_look_around(preflight);
    if (findings->failed)
        return error_out_of_memory(error);
    *verdict = PREFLIGHT_SAFE;
    if (findings_of(findings, FINDING_PROBLEM) > 0)
        *verdict = PREFLIGHT_NOT_SAFE;
    else if (findings_of_kind(findings, FOUND_BESIDE) > 0)
        *verdict = PREFLIGHT_SAFE_BESIDE_LIVE;
    return true;
}
