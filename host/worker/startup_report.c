#include "worker/startup_report.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "db/migrate.h"
#include "log/log.h"
#include "worker/worker_private.h"

/* What a list keeps free at its end, for the number of those that are not shown. */
enum { IDLE_ROOM = 32 };

static void put_list(struct buf *text, const struct db_texts *items, const char *separator)
{
    for (size_t i = 0; i < items->count; i++)
        buf_printf(text, "%s%s", i == 0 ? "" : separator, items->items[i]);
}

/* One more line of a list; false when it does not fit, and the list ends. */
static bool put_line(struct buf *text, const char *line)
{
    if (text->size + strlen(line) + IDLE_ROOM > text->maximum)
        return false;
    buf_printf(text, "\n  %s", line);
    return buf_ok(text);
}

static void put_rest(struct buf *text, size_t count, size_t shown)
{
    if (shown < count)
        buf_printf(text, "\n  and %zu more", count - shown);
}

static void put_lines(struct buf *text, const struct db_texts *items)
{
    size_t shown = 0;

    while (shown < items->count && shown < LIMIT_DIFFERENCES_SHOWN &&
           put_line(text, items->items[shown]))
        shown++;
    put_rest(text, items->count, shown);
}

bool startup_report_schema(struct worker *worker, const struct db_schema_version *schema)
{
    struct error error;

    if (migrate_judge(schema->is_installed ? schema->version : 0, schema->oldest_host, &error))
        return true;
    worker_fail(worker, error.code, "%s", error.text);
    return false;
}

static bool report_mismatch(struct worker *worker, const struct deployment *deployment,
                            const struct db_deployment *answer)
{
    struct buf text;

    buf_init(&text, LIMIT_ERROR_TEXT / 2);
    put_lines(&text, &answer->differences);
    worker_fail(worker, ERROR_CONFIG,
                "%s: flow %s differs from what the database has under this slug:%s\n"
                "%s",
                deployment->file, deployment->flow, text.data,
                answer->hint != NULL ? answer->hint
                                     : "Give the changed flow a new concrete slug, or delete the "
                                       "old one in development.");
    buf_free(&text);
    return false;
}

static void report_option_drift(struct worker *worker, const struct deployment *deployment,
                                const struct db_texts *drift)
{
    struct buf text;

    if (drift->count == 0)
        return;
    buf_init(&text, LIMIT_ERROR_TEXT / 2);
    put_list(&text, drift, "; ");
    log_warn("option_drift",
             "options of the module differ from those stored; the stored ones count, "
             "pgflow.apply_flow_options takes the module's",
             LOG_QUEUE(worker->queue), LOG_FLOW(deployment->flow),
             LOG_FIELD_TEXT("differences", text.data));
    buf_free(&text);
}

bool startup_report_deployment(struct worker *worker, struct worker_module *module,
                               const struct db_deployment *answer)
{
    if (strcmp(answer->compilation, "mismatch") == 0)
        return report_mismatch(worker, module->deployment, answer);
    snprintf(module->compilation, sizeof module->compilation, "%s", answer->compilation);
    snprintf(module->activation, sizeof module->activation, "%s", answer->activation);
    snprintf(module->active_flow, sizeof module->active_flow, "%s",
             answer->active_flow != NULL ? answer->active_flow : "");
    report_option_drift(worker, module->deployment, &answer->option_drift);
    return true;
}

/* "active" stands for the alias that points there, the others for runs or tasks. */
static void put_reason(struct buf *text, const char *reason, int64_t count)
{
    const char *unit = strcmp(reason, "draining") == 0 ? "run" : "task";

    if (strcmp(reason, "active") == 0)
        buf_puts(text, " active, its alias points at it;");
    else
        buf_printf(text, " %s, %lld %s%s;", reason, (long long)count, unit, count == 1 ? "" : "s");
}

static bool put_missing_pair(struct buf *text, const struct db_coverage_row *row)
{
    struct buf line;

    buf_init(&line, LIMIT_ERROR_TEXT);
    buf_printf(&line, "%s.%s:", row->flow, row->step);
    for (size_t i = 0; i < row->reasons.count; i++)
        put_reason(&line, row->reasons.items[i], row->counts != NULL ? row->counts[i] : 0);
    bool put = put_line(text, line.data);
    buf_free(&line);
    return put;
}

void startup_report_gap(const struct worker *worker, const struct db_coverage *missing,
                        char *report, size_t size)
{
    struct buf text;
    size_t shown = 0;

    buf_init(&text, LIMIT_ERROR_TEXT - 1024);
    while (shown < missing->count && shown < LIMIT_MISSING_PAIRS_SHOWN &&
           put_missing_pair(&text, &missing->rows[shown]))
        shown++;
    put_rest(&text, missing->count, shown);
    snprintf(report, size,
             "queue %s needs steps that the given modules do not have:%s\n"
             "Give the modules of these flows too (--plugin, old versions first), or wait until "
             "they have drained and retire them. Nothing was claimed; pgflowctl coverage %s "
             "shows the whole list.",
             worker->queue, text.data, worker->queue);
    buf_free(&text);
}

void startup_report_other_queue(struct worker *worker)
{
    worker_fail(worker, ERROR_CONFIG,
                "function %s has a live worker on another queue than %s; give this deployment its "
                "own --function",
                worker->function, worker->queue);
}
