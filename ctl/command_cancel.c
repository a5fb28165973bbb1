/*
 * pgflowctl cancel ID.
 */
#include "ctl/command.h"
#include "ctl/query.h"

#include "base/text.h"
#include "db/sync.h"

#include <stdio.h>
#include <string.h>

/* The status before and after. */
static const char cancel_sql[] =
    "with before as materialized (select r.run_id, r.status from pgflow.runs r"
    "                             where r.run_id = $1::uuid)"
    " select b.status, (pgflow.cancel_run(b.run_id,"
    "   coalesce($2, 'cancelled by ' || session_user))).status from before b";

static int execute(struct invocation *invocation, struct error *error)
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

const struct command command_cancel = {
    .name = "cancel",
    .arguments = "RUN",
    .summary = "cancel a run",
    .help = "Drops the waiting tasks of the run and tells its running handlers to stop. A run\n"
            "that has ended stays as it is, and the exit status is 1.\n",
    .least = 1,
    .most = 1,
    .needs_database = true,
    .examples = "pgflowctl cancel 0b7c5bd2-6d3c-4a3a-9a51-0a5f7b1f6a10 --reason 'wrong input'\n",
    .run = execute,
    .options = {{"reason", "TEXT", "recorded with the run (default: cancelled by USER)"}},
};
