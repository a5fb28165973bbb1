#include "ctl/preflight/preflight_report.h"

#include "ctl/plain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const titles[] = {
    [FINDING_PROBLEM] = "problems:",
    [FINDING_NOTE] = "notes:",
    [FINDING_CAVEAT] = "not covered by this verdict:",
};

static void print_finding(const struct finding *finding)
{
    printf("  ");
    if (finding->step[0] != '\0')
        printf("%s.%s: ", finding->flow, finding->step);
    else if (finding->flow[0] != '\0')
        printf("%s: ", finding->flow);
    else
        printf("queue %s: ", finding->queue);
    plain_print_one_line(stdout, finding->text);
    if (finding->remedy != NULL) {
        printf("\n    ");
        plain_print_one_line(stdout, finding->remedy);
    }
    printf("\n");
}

static void print_class(const struct findings *findings, enum finding_class which)
{
    if (findings_of(findings, which) == 0)
        return;
    printf("%s\n", titles[which]);
    for (size_t i = 0; i < findings->count; i++)
        if (finding_class(findings->items[i].kind) == which)
            print_finding(&findings->items[i]);
}

void preflight_print(const struct preflight *preflight, enum preflight_verdict verdict)
{
    const char *queue = registry_queue(preflight->registry);
    size_t modules = registry_count(preflight->registry);

    switch (verdict) {
    case PREFLIGHT_SAFE:
        printf("safe: hosts with %s serve all that queue %s holds and may still get\n",
               modules == 1 ? "this module" : "these modules", queue);
        break;
    case PREFLIGHT_SAFE_BESIDE_LIVE:
        printf("safe beside the live hosts alone: together they serve all that queue %s holds\n",
               queue);
        break;
    case PREFLIGHT_NOT_SAFE:
    case PREFLIGHT_VERDICTS:
        printf("not safe: hosts with %s do not start on queue %s\n",
               modules == 1 ? "this module" : "these modules", queue);
        break;
    }
    for (size_t which = 0; which < sizeof titles / sizeof titles[0]; which++)
        print_class(&preflight->findings, (enum finding_class)which);
}

static void put_text(struct buf *out, const char *name, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    buf_printf(out, ", \"%s\": ", name);
    buf_put_json_string(out, text, strlen(text));
}

static void put_need(struct buf *out, const struct snapshot_need *need)
{
    const char *between = "";
    buf_puts(out, ", \"reasons\": [");
    for (size_t i = 0; i < SNAPSHOT_REASONS; i++) {
        if (!need->reasons[i])
            continue;
        buf_printf(out, "%s\"%s\"", between, snapshot_reason_words[i]);
        between = ", ";
    }
    buf_printf(out,
               "], \"runs\": %" PRIu64 ", \"runs_at_least\": %s, \"tasks\": %" PRIu64
               ", \"tasks_at_least\": %s",
               need->runs, need->runs_at_least ? "true" : "false", need->tasks,
               need->tasks_at_least ? "true" : "false");
    put_text(out, "oldest", need->oldest);
}

static void put_class(struct buf *out, const char *name, const struct findings *findings,
                      enum finding_class which)
{
    const char *between = "";
    buf_printf(out, ", \"%s\": [", name);
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding_class(finding->kind) != which)
            continue;
        buf_printf(out, "%s{\"kind\": \"%s\"", between, finding_word(finding->kind));
        put_text(out, "flow", finding->flow);
        put_text(out, "step", finding->step);
        put_text(out, "queue", finding->queue);
        if (finding->need != NULL)
            put_need(out, finding->need);
        put_text(out, "text", finding->text);
        put_text(out, "remedy", finding->remedy);
        buf_putc(out, '}');
        between = ", ";
    }
    buf_putc(out, ']');
}

void preflight_put_json(struct buf *out, const struct preflight *preflight,
                        enum preflight_verdict verdict)
{
    const struct snapshot *snapshot = preflight->snapshot;
    buf_printf(out, "{\"verdict\": \"%s\"", preflight_words[verdict]);
    put_text(out, "queue", registry_queue(preflight->registry));
    buf_puts(out, ", \"snapshot\": {\"schema_version\": ");
    buf_printf(out, "%" PRIu64, snapshot->schema_version);
    put_text(out, "taken_at", snapshot->taken_at);
    put_text(out, "digest", snapshot->digest);
    buf_putc(out, '}');
    put_class(out, "problems", &preflight->findings, FINDING_PROBLEM);
    put_class(out, "notes", &preflight->findings, FINDING_NOTE);
    put_class(out, "caveats", &preflight->findings, FINDING_CAVEAT);
    buf_puts(out, "}\n");
}
