/*
 * pgflowctl cancel: one run, or all that the options find.
 */
#include "ctl/command.h"
#include "ctl/confirm.h"
#include "ctl/query.h"
#include "ctl/runs/run_filter.h"

#include "base/buf.h"
#include "base/text.h"
#include "db/sync.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The status before and after. */
static const char cancel_sql[] =
    "with before as materialized (select r.run_id, r.status from pgflow.runs r"
    "                             where r.run_id = $1::uuid)"
    " select b.status, (pgflow.cancel_run(b.run_id,"
    "   coalesce($2, 'cancelled by ' || session_user))).status from before b";

static int cancel_one(struct invocation *invocation, struct error *error)
{
    const char *values[] = {invocation->arguments[0], invocation_value(invocation, "reason")};
    if (!text_is_uuid(values[0])) {
        (void)error_set(error, ERROR_USAGE, "'%s' is no run id; pgflowctl runs lists the newest",
                        values[0]);
        return FAILED;
    }
    struct db_rows *rows = query_rows(invocation->db, cancel_sql, values, 2, error);
    if (rows == NULL)
        return FAILED;
    int status = FAILED;
    if (db_rows_count(rows) == 0) {
        (void)error_set(error, ERROR_ANSWER_NO,
                        "there is no run %s; pgflowctl runs lists the newest", values[0]);
    } else {
        const char *before = db_rows_text(rows, 0, 0);
        const char *after = db_rows_text(rows, 0, 1);
        bool cancelled = strcmp(before, "started") == 0 && strcmp(after, "cancelled") == 0;
        if (invocation->json)
            printf("{\"run\": \"%s\", \"before\": \"%s\", \"after\": \"%s\"}\n", values[0], before,
                   after);
        else if (cancelled)
            printf("run %s is cancelled\n", values[0]);
        else
            printf("run %s had ended before: it is %s\n", values[0], after);
        status = cancelled ? DONE : ERROR_ANSWER_NO;
    }
    db_rows_destroy(rows);
    return status;
}

/* ---- All that the options find ---- */

/* Runs of one page are cancelled in the order of their ids, which is the order in which everything
 * locks them. */
static const char page_sql[] =
    "with page as materialized (select f.run_id, f.at, row_number() over () as place"
    "  from pgflow.find_runs($1::jsonb, $2::timestamptz, $3::uuid, $4::int, false) f), "
    "done as materialized (select o.run_id, (pgflow.cancel_run(o.run_id,"
    "    coalesce($5, 'cancelled by ' || session_user))).status"
    "  from (select p.run_id from page p order by p.run_id) o) "
    "select p.run_id as run, p.at, d.status from page p join done d on d.run_id = p.run_id"
    " order by p.place";
enum { PAGE = 100, STATUS = 2 };

struct cancellation {
    bool terminal;
    int64_t asked, cancelled, ended; /* ended: by itself, meanwhile */
};

static bool take(void *ctx, struct db_rows *rows, struct error *error)
{
    struct cancellation *cancellation = ctx;
    (void)error;
    for (size_t i = 0; i < db_rows_count(rows); i++) {
        bool cancelled = strcmp(db_rows_text(rows, i, STATUS), "cancelled") == 0;
        cancellation->cancelled += cancelled;
        cancellation->ended += !cancelled;
    }
    if (cancellation->terminal)
        fprintf(stderr, "\r\x1b[K%" PRId64 " of %" PRId64 " runs",
                cancellation->cancelled + cancellation->ended, cancellation->asked);
    db_rows_destroy(rows);
    return true;
}

static void print_cancellation(const struct cancellation *cancellation, bool json)
{
    if (cancellation->terminal)
        fprintf(stderr, "\r\x1b[K");
    if (json)
        printf("{\"cancelled\": %" PRId64 ", \"ended_before\": %" PRId64 "}\n",
               cancellation->cancelled, cancellation->ended);
    else
        printf("%" PRId64 " run%s cancelled, %" PRId64 " had ended before\n",
               cancellation->cancelled, cancellation->cancelled == 1 ? "" : "s",
               cancellation->ended);
}

static bool confirm_number(struct invocation *invocation, int64_t runs, struct error *error)
{
    char question[80];
    (void)snprintf(question, sizeof question, "%" PRId64 " run%s will be cancelled. Continue?",
                   runs, runs == 1 ? "" : "s");
    return runs == 0 || confirm(invocation, question, error);
}

static int cancel_found(struct invocation *invocation, const char *filter, struct error *error)
{
    struct cancellation cancellation = {.terminal = isatty(STDERR_FILENO) == 1};
    const char *values[] = {invocation_value(invocation, "reason")};
    struct run_walk walk = {.sql = page_sql,
                            .filter = filter,
                            .values = values,
                            .count = 1,
                            .most = INT32_MAX,
                            .page = PAGE,
                            .take = take,
                            .ctx = &cancellation};
    if (!run_filter_count(invocation, filter, &cancellation.asked, error))
        return FAILED;
    if (invocation_value(invocation, "dry-run") != NULL) {
        printf(invocation->json ? "{\"runs\": %" PRId64 "}\n"
                                : "%" PRId64 " runs would be cancelled\n",
               cancellation.asked);
        return DONE;
    }
    if (!confirm_number(invocation, cancellation.asked, error))
        return FAILED;
    bool done = run_walk(invocation, &walk, error);
    print_cancellation(&cancellation, invocation->json);
    return done ? DONE : FAILED;
}

static int cancel_by_filter(struct invocation *invocation, struct error *error)
{
    const char *flow = invocation_value(invocation, "flow");
    struct buf filter;
    struct buf members;
    int status = FAILED;
    buf_init(&filter, LIMIT_DB_STATEMENT_BYTES);
    buf_init(&members, LIMIT_DB_STATEMENT_BYTES);
    if (run_filter_put_moment(invocation, &members, error) &&
        run_filter_read(invocation, "started", members.data, &filter, error) &&
        (flow == NULL || query_require_flow(invocation->db, flow, error)))
        status = cancel_found(invocation, filter.data, error);
    buf_free(&members);
    buf_free(&filter);
    return status;
}

static int execute(struct invocation *invocation, struct error *error)
{
    bool filtered = run_filter_is_given(invocation);
    if (filtered == (invocation->count > 0)) {
        (void)error_set(error, ERROR_USAGE, "%s",
                        filtered ? "name the run, or find runs by options: not both"
                                 : "name the run, or find runs by options, as in: pgflowctl "
                                   "cancel --flow audit --until '2 hours'");
        return FAILED;
    }
    return filtered ? cancel_by_filter(invocation, error) : cancel_one(invocation, error);
}

const struct command command_cancel = {
    .name = "cancel",
    .arguments = "[RUN]",
    .summary = "cancel a run, or all that the options find",
    .help = "Drops the waiting tasks of the run and tells its running handlers to stop. A run\n"
            "that has ended stays as it is, and the exit status is 1. With the options of runs\n"
            "it cancels all that they find (those at work, unless --status says otherwise); it\n"
            "says how many there are and asks.\n",
    .most = 1,
    .needs_database = true,
    .examples = "pgflowctl cancel 0b7c5bd2-6d3c-4a3a-9a51-0a5f7b1f6a10 --reason 'wrong input'\n",
    .run = execute,
    .options = {RUN_FILTER_OPTIONS,
                {"reason", "TEXT", "recorded with the run (default: cancelled by USER)"},
                {"dry-run", NULL, "only count the runs"},
                {"yes", NULL, "do not ask"}},
};
