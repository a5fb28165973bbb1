/*
 * pgflowctl drain FLOW: what a concrete flow still has to do.
 */
#include "base/clock.h"
#include "ctl/command.h"
#include "ctl/json_output.h"
#include "ctl/plain.h"
#include "ctl/query.h"

#include "db/sync.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_MS = 1000, BAR = 30 };

enum { SAFE, RUNS, TASKS, BLOCKERS };

static const char drain_sql[] =
    "select d.safe_to_retire, d.started_runs,"
    " coalesce((select sum((t ->> 'tasks')::bigint) from jsonb_array_elements(d.live_tasks) t), 0),"
    " array_to_string(d.blockers, e'\\n') from pgflow.drain_status($1) d";
static const char drain_json_sql[] =
    "select d.alias, d.is_active, d.retired_at, d.started_runs, d.live_tasks,"
    " to_jsonb(d.reachable_queues) as reachable_queues, d.live_workers, d.safe_to_retire,"
    " to_jsonb(d.blockers) as blockers from pgflow.drain_status($1) d";

static int64_t number(const struct db_rows *rows, size_t column)
{
    const char *text = db_rows_text(rows, 0, column);
    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

static bool is_safe(const struct db_rows *rows)
{
    return *db_rows_text(rows, 0, SAFE) == 't';
}

static void print_verdict(const char *flow, const struct db_rows *rows)
{
    if (is_safe(rows)) {
        printf("%s: safe to retire\n", flow);
        return;
    }
    printf("%s: not safe to retire; %" PRId64 " run%s and %" PRId64 " task%s left\n", flow,
           number(rows, RUNS), number(rows, RUNS) == 1 ? "" : "s", number(rows, TASKS),
           number(rows, TASKS) == 1 ? "" : "s");
    plain_print(stdout, db_rows_text(rows, 0, BLOCKERS));
    printf("\n");
}

/* One line that is written over and over, for people at a terminal. */
static void print_progress(const struct db_rows *rows, int64_t most, int64_t last)
{
    int64_t runs = number(rows, RUNS);
    int full = most > 0 ? (int)(BAR * (most - runs) / most) : BAR;
    char bar[BAR + 1];
    memset(bar, '.', BAR);
    memset(bar, '#', (size_t)full);
    bar[BAR] = '\0';
    fprintf(stderr, "\r\x1b[K[%s] %" PRId64 " runs, %" PRId64 " tasks left, %" PRId64 " runs/s",
            bar, runs, number(rows, TASKS), last > runs ? last - runs : 0);
}

/* The last look. A flow that is blocked by more than its work (an alias that
 * points at it) is waited for like any other: the operator switches meanwhile. */
static struct db_rows *wait_until_safe(struct invocation *invocation, int timeout_s,
                                       struct error *error)
{
    bool terminal = isatty(STDERR_FILENO) == 1;
    uint64_t until_ms = clock_steady_ms() + (uint64_t)timeout_s * 1000;
    int64_t most = 0;
    int64_t last = 0;
    for (;;) {
        struct db_rows *rows =
            query_rows(invocation->db, drain_sql, invocation->arguments, 1, error);
        if (rows == NULL && error->code != ERROR_UNAVAILABLE)
            return NULL;
        bool over = timeout_s > 0 && clock_steady_ms() >= until_ms;
        if (rows != NULL) {
            most = number(rows, RUNS) > most ? number(rows, RUNS) : most;
            if (terminal)
                print_progress(rows, most, last);
            last = number(rows, RUNS);
            over = over || is_safe(rows);
        }
        if (over && terminal)
            fprintf(stderr, "\n");
        if (over)
            return rows;
        db_rows_destroy(rows);
        (void)db_sync_wait(invocation->db, LOOK_MS);
    }
}

static int print_json(struct invocation *invocation, struct error *error)
{
    struct db_rows *rows =
        query_rows(invocation->db, drain_json_sql, invocation->arguments, 1, error);
    if (rows == NULL)
        return FAILED;
    json_print_row(stdout, rows, 0);
    printf("\n");
    db_rows_destroy(rows);
    return DONE;
}

static int execute(struct invocation *invocation, struct error *error)
{
    int timeout_s = 0;
    struct db_rows *rows = NULL;
    bool wait = invocation_value(invocation, "wait") != NULL;
    if (!wait && invocation_value(invocation, "timeout") != NULL) {
        (void)error_set(error, ERROR_USAGE, "--timeout goes with --wait");
        return FAILED;
    }
    if (!invocation_number(invocation, "timeout", 1, 864000, 0, &timeout_s, error))
        return FAILED;
    if (wait)
        rows = wait_until_safe(invocation, timeout_s, error);
    else
        rows = query_rows(invocation->db, drain_sql, invocation->arguments, 1, error);
    if (rows == NULL) {
        query_offer_flow(invocation->db, invocation->arguments[0], error);
        return FAILED;
    }
    bool safe = is_safe(rows);
    bool printed = true;
    if (invocation->json)
        printed = print_json(invocation, error) == DONE;
    else
        print_verdict(invocation->arguments[0], rows);
    db_rows_destroy(rows);
    return !printed ? FAILED : safe ? DONE : ERROR_ANSWER_NO;
}

const struct command command_drain = {
    .name = "drain",
    .arguments = "FLOW",
    .summary = "show what work a version of a flow still has",
    .help = "Exit 0 if the version may be retired. Otherwise prints the reasons; exit 1.\n",
    .least = 1,
    .most = 1,
    .needs_database = true,
    .examples = "pgflowctl drain audit_v1\n"
                "pgflowctl drain audit_v1 --wait --timeout 3600 && pgflowctl retire audit_v1\n",
    .run = execute,
    .options = {{"wait", NULL, "until it is safe to retire, showing progress"},
                {"timeout", "S", "with --wait: give up after S seconds, exit 1"}},
};
