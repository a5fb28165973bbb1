/*
 * pgflowctl replay NEW.so: recorded inputs through the handlers of another build, in a box from
 * which nothing leaves.
 *
 * Data flow: the box is started first (box.h), then the database is reached. Pages of recorded
 * tasks (records.h) become items; an item is sent to the box once for NEW, and with --baseline
 * twice for OLD, in turns. When its answers are there it is judged (findings.h).
 */
#include "ctl/command.h"
#include "ctl/handler_memory.h"
#include "ctl/plain.h"
#include "ctl/query.h"
#include "ctl/replay/box.h"
#include "ctl/replay/findings.h"
#include "ctl/replay/findings_print.h"
#include "ctl/replay/plan.h"
#include "ctl/replay/records.h"

#include "base/clock.h"
#include "db/migrate.h"
#include "db/sync.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONCURRENCY_DEFAULT = 10, RUNS_DEFAULT = 1000, RUNS_MOST = 1000000000, WAIT_MS = 1000 };

struct item {
    struct replayed task;
    size_t awaited;
};

struct replay {
    struct invocation *invocation;
    struct box_config config;
    struct box box;
    cJSON *modules[BOX_MODULES];
    struct plan plan;
    struct records records;
    struct findings findings;
    struct item *items; /* the window */
    size_t window, *unused, unused_count;
    size_t turn, judged;
};

static bool read_options(struct replay *replay, struct error *error)
{
    struct invocation *invocation = replay->invocation;
    const char *baseline = invocation_value(invocation, "baseline");
    int concurrency = 0, runs = 0;
    if (invocation_value(invocation, "flow") == NULL)
        return error_set(error, ERROR_USAGE, "--flow is missing: whose recorded runs to replay");
    if (invocation_value(invocation, "runs") != NULL &&
        invocation_value(invocation, "since") != NULL)
        return error_set(error, ERROR_USAGE, "give --runs or --since, not both");
    if (!invocation_number(invocation, "concurrency", 1, LIMIT_CONCURRENCY, CONCURRENCY_DEFAULT,
                           &concurrency, error) ||
        !invocation_number(invocation, "runs", 1, RUNS_MOST, RUNS_DEFAULT, &runs, error) ||
        !handler_memory_mib(invocation, &replay->config.memory_mib, error))
        return false;
    replay->records.flow = invocation_value(invocation, "flow");
    replay->records.since = invocation_value(invocation, "since");
    replay->records.failed = invocation_value(invocation, "failed") != NULL;
    replay->records.runs_left = replay->records.since != NULL ? -1 : runs;
    replay->config.modules[0] = invocation->arguments[0];
    replay->config.modules[1] = baseline;
    replay->config.count = baseline != NULL ? 2 : 1;
    replay->config.measures = baseline != NULL;
    replay->config.concurrency = (uint32_t)concurrency;
    replay->config.unconfined = invocation_value(invocation, "unconfined") != NULL;
    /* Of argv, so that the box can wipe its copy. */
    memcpy(&replay->config.secret, &invocation->database, sizeof replay->config.secret);
    return true;
}

/* ---- Answers ---- */

static bool keep_ending(struct item *item, enum build build, const struct box_answer *answer,
                        const char *text)
{
    struct ending *ending = &item->task.endings[build];
    *ending = (struct ending){.here = true,
                              .completed = answer->completed != 0,
                              .died = answer->died != 0,
                              .us = answer->us,
                              .rss_kib = answer->rss_kib,
                              .text = malloc(answer->size + 1),
                              .size = answer->size};
    if (ending->text == NULL)
        return false;
    memcpy(ending->text, text, answer->size);
    ending->text[answer->size] = '\0';
    return true;
}

static void free_item(struct item *item)
{
    for (size_t build = 0; build < BUILDS; build++)
        free(item->task.endings[build].text);
    free(item->task.output);
    *item = (struct item){.awaited = 0};
}

static bool take_answers(struct replay *replay, struct error *error)
{
    struct box_answer answer;
    const char *text = NULL;
    while (box_next(&replay->box, &answer, &text)) {
        if (answer.kind == BOX_FAILED)
            return error_set(error, (int)answer.code, "%.*s", (int)answer.size, text);
        struct item *item = &replay->items[answer.id / BUILDS];
        if (!keep_ending(item, (enum build)(answer.id % BUILDS), &answer, text))
            return error_out_of_memory(error);
        if (--item->awaited > 0)
            continue;
        bool ok = findings_judge(&replay->findings, &item->task, error);
        free_item(item);
        replay->unused[replay->unused_count++] = answer.id / BUILDS;
        replay->judged++;
        if (!ok)
            return false;
    }
    return true;
}

static bool await_answers(struct replay *replay, int milliseconds, struct error *error)
{
    return box_pump(&replay->box, milliseconds, error) && take_answers(replay, error);
}

/* ---- Tasks ---- */

static size_t step_of(const struct replay *replay, const char *slug)
{
    size_t i = 0;
    while (i < replay->plan.count && strcmp(replay->plan.steps[i].slug, slug) != 0)
        i++;
    return i;
}

static void send_item(struct replay *replay, size_t index, const struct db_rows *rows, size_t row)
{
    /* OLD and NEW take turns, so that neither always comes first. */
    static const enum build orders[][BUILDS] = {{OLD_BUILD, NEW_BUILD, OLD_AGAIN},
                                                {NEW_BUILD, OLD_BUILD, OLD_AGAIN},
                                                {OLD_BUILD, OLD_AGAIN, NEW_BUILD}};
    struct item *item = &replay->items[index];
    const struct plan_step *step = &replay->plan.steps[item->task.step];
    const char *input = db_rows_text(rows, row, RECORD_INPUT);
    const char *flow_input = db_rows_text(rows, row, RECORD_FLOW_INPUT);
    bool with_old = replay->findings.has_baseline && step->in_old;
    struct box_task task = {.input_size = strlen(input),
                            .flow_input_size = flow_input != NULL ? strlen(flow_input) : 0,
                            .has_flow_input = flow_input != NULL,
                            .timeout_s = step->timeout_s,
                            .max_attempts = step->max_attempts,
                            .task_index = item->task.task_index};
    task.attempt = (uint32_t)strtoul(db_rows_text(rows, row, RECORD_ATTEMPT), NULL, 10);
    if (task.attempt == 0)
        task.attempt = 1;
    memcpy(task.run_id, item->task.run_id, sizeof task.run_id);
    item->awaited = with_old ? BUILDS : 1;
    for (size_t i = 0; i < BUILDS; i++) {
        enum build build = orders[replay->turn % BUILDS][i];
        if (build != NEW_BUILD && !with_old)
            continue;
        task.id = index * BUILDS + build;
        task.module = build != NEW_BUILD;
        task.step = step->index[task.module];
        box_send(&replay->box, &task, input, flow_input);
    }
    replay->turn++;
}

static bool take_row(struct replay *replay, const struct db_rows *rows, size_t row,
                     struct error *error)
{
    size_t step = step_of(replay, db_rows_text(rows, row, RECORD_STEP));
    const char *output = db_rows_text(rows, row, RECORD_OUTPUT);
    const char *status = db_rows_text(rows, row, RECORD_STATUS);
    if (step == replay->plan.count)
        return true;
    if (db_rows_text(rows, row, RECORD_INPUT) == NULL) {
        replay->findings.steps[step].unreadable++;
        return true;
    }
    while (replay->unused_count == 0)
        if (!await_answers(replay, WAIT_MS, error))
            return false;
    size_t index = replay->unused[--replay->unused_count];
    struct item *item = &replay->items[index];
    *item = (struct item){.task = {.step = step,
                                   .was_completed = strcmp(status, "completed") == 0,
                                   .output = strdup(output != NULL ? output : "null")}};
    if (item->task.output == NULL)
        return error_out_of_memory(error);
    item->task.task_index = (int32_t)strtol(db_rows_text(rows, row, RECORD_INDEX), NULL, 10);
    (void)snprintf(item->task.run_id, sizeof item->task.run_id, "%s",
                   db_rows_text(rows, row, RECORD_RUN));
    send_item(replay, index, rows, row);
    return true;
}

static bool run_all(struct replay *replay, struct error *error)
{
    for (;;) {
        struct db_rows *rows = NULL;
        for (uint64_t now = clock_steady_ms(); now < records_next_ms(&replay->records);
             now = clock_steady_ms()) {
            uint64_t left = records_next_ms(&replay->records) - now;
            if (!await_answers(replay, left < WAIT_MS ? (int)left : WAIT_MS, error))
                return false;
        }
        if (!records_read(&replay->records, &rows, error))
            return false;
        if (rows == NULL)
            break;
        bool ok = true;
        for (size_t row = 0; ok && row < db_rows_count(rows); row++)
            ok = take_row(replay, rows, row, error);
        db_rows_destroy(rows);
        if (!ok || !await_answers(replay, 0, error))
            return false;
    }
    while (replay->unused_count < replay->window)
        if (!await_answers(replay, WAIT_MS, error))
            return false;
    return true;
}

/* ---- Modules ---- */

/* The first answers of the box. */
static bool await_modules(struct replay *replay, struct error *error)
{
    struct box_answer answer;
    const char *text = NULL;
    for (size_t count = 0; count < replay->config.count;) {
        if (!box_pump(&replay->box, WAIT_MS, error))
            return false;
        while (count < replay->config.count && box_next(&replay->box, &answer, &text)) {
            if (answer.kind == BOX_FAILED)
                return error_set(error, (int)answer.code, "%.*s", (int)answer.size, text);
            replay->modules[count] = cJSON_ParseWithLength(text, answer.size);
            if (replay->modules[count++] == NULL)
                return error_out_of_memory(error);
        }
    }
    return true;
}

static const char *text_of(const cJSON *module, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(module, name));
    return text != NULL ? text : "";
}

/* F is of NEW's slug, or of its alias. */
static bool check_related(struct replay *replay, struct error *error)
{
    const char *values[] = {replay->records.flow};
    const char *alias = text_of(replay->modules[0], "alias");
    struct db_rows *rows =
        query_rows(replay->invocation->db, "select alias from pgflow.flows where flow_slug = $1",
                   values, 1, error);
    if (rows == NULL)
        return false;
    bool ok = db_rows_count(rows) > 0 || query_no_flow(replay->invocation->db, values[0], error);
    if (ok && strcmp(values[0], text_of(replay->modules[0], "flowSlug")) != 0 &&
        strcmp(db_rows_text(rows, 0, 0), alias) != 0)
        ok = error_set(error, ERROR_USAGE,
                       "%s (alias %s) and %s (alias %s) are no versions of one flow", values[0],
                       db_rows_text(rows, 0, 0), text_of(replay->modules[0], "flowSlug"), alias);
    db_rows_destroy(rows);
    return ok;
}

/* ---- The command ---- */

static bool open_window(struct replay *replay, struct error *error)
{
    replay->window = (size_t)replay->config.concurrency * 8;
    replay->items = calloc(replay->window, sizeof *replay->items);
    replay->unused = calloc(replay->window, sizeof *replay->unused);
    if (replay->items == NULL || replay->unused == NULL)
        return error_out_of_memory(error);
    while (replay->unused_count < replay->window) {
        replay->unused[replay->unused_count] = replay->unused_count;
        replay->unused_count++;
    }
    return true;
}

static bool replay_all(struct replay *replay, struct error *error)
{
    struct invocation *invocation = replay->invocation;
    bool has_baseline = replay->config.count > 1;
    return box_open(&replay->box, &replay->config, error) && await_modules(replay, error) &&
           invocation_connect(invocation, error) && migrate_bears_program(invocation->db, error) &&
           check_related(replay, error) &&
           plan_make(&replay->plan, invocation->db, replay->records.flow,
                     invocation_value(invocation, "step"), replay->modules[0], replay->modules[1],
                     error) &&
           findings_open(&replay->findings, &replay->plan, has_baseline,
                         invocation_value(invocation, "ignore"), error) &&
           records_open(&replay->records, invocation->db, &replay->plan, error) &&
           open_window(replay, error) && run_all(replay, error);
}

static int report(struct replay *replay, struct error *error)
{
    bool differ = false;
    for (size_t i = 0; i < replay->plan.count; i++)
        differ = findings_step_differs(&replay->findings.steps[i]) || differ;
    if (replay->invocation->json) {
        if (!findings_print_json(&replay->findings, differ, error))
            return FAILED;
    } else {
        findings_print(&replay->findings);
    }
    if (replay->judged == 0) {
        (void)error_set(error, ERROR_CONFIG, "nothing was replayed: %s",
                        replay->plan.count == 0 ? "no step can be"
                                                : "there is no such task on record");
        return FAILED;
    }
    return differ ? ERROR_ANSWER_NO : DONE;
}

static int execute(struct invocation *invocation, struct error *error)
{
    struct replay replay = {.invocation = invocation, .box = {.fd = -1, .pid = -1}};
    int status = FAILED;
    if (read_options(&replay, error) && replay_all(&replay, error))
        status = report(&replay, error);
    box_close(&replay.box);
    for (size_t i = 0; replay.items != NULL && i < replay.window; i++)
        free_item(&replay.items[i]);
    free(replay.items);
    free(replay.unused);
    records_close(&replay.records);
    findings_close(&replay.findings);
    plan_free(&replay.plan);
    for (size_t i = 0; i < BOX_MODULES; i++)
        cJSON_Delete(replay.modules[i]);
    return status;
}

const struct command command_replay = {
    .name = "replay",
    .arguments = "NEW.so",
    .summary = "run recorded inputs through another build, and compare",
    .help =
        "Feeds the recorded inputs of completed tasks of a flow to the handlers of NEW.so and\n"
        "compares outputs and outcomes with the record, as jsonb does. The flow is that of\n"
        "NEW.so, or another version of its alias: steps are replayed if type, dependencies and\n"
        "contract are equal; the others are listed. Exit 0: equal. Exit 1: something differs.\n"
        "Exit 78: nothing could be replayed.\n"
        "\n"
        "The handlers run in a box from which nothing leaves: no network, no unix socket, a\n"
        "read-only file system with a private /tmp, /run and /dev, no variables but PATH,\n"
        "LANG, LC_ALL and TZ. Where the machine gives no namespaces the command refuses.\n"
        "Only reads from the database; a role that may select suffices. While others work on\n"
        "the server, reading takes 2 % of the time.\n",
    .least = 1,
    .most = 1,
    .examples = "pgflowctl replay build/audit_v2.so --flow audit_v1 --since 2026-11-01\n"
                "pgflowctl replay build/audit_v2.so --flow audit_v2 --baseline audit_v2.so\n",
    .connects_itself = true,
    .run = execute,
    .options = {{"flow", "FLOW", "whose recorded runs"},
                {"step", "STEP", "only this step"},
                {"runs", "N", "the newest N runs (default: 1000)"},
                {"since", "TIME", "all runs started since then"},
                {"ignore", "/PATH,...", "fields of outputs; * stands for any name or index"},
                {"failed", NULL, "failed tasks too"},
                {"baseline", "OLD.so",
                 "run OLD beside NEW: compare time and memory, find unstable fields"},
                {"concurrency", "N", "handlers at once (default: 10)"},
                {"handler-memory", "MIB",
                 "their limit of address space; 0: none (default: $PGFLOW_HANDLER_MEMORY, "
                 "--config, 512)"},
                {"unconfined", NULL, "without the box: the handlers reach what you reach"}},
};
