/*
 * pgflowctl runs: the newest runs.
 */
#include "ctl/command.h"
#include "ctl/query.h"
#include "ctl/watch.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* $1 flow or alias, $2 status, $3 how many. The tasks of a run are counted only
 * for the rows that are shown. */
#define CHOSEN                                                                                     \
    "with chosen as ("                                                                             \
    "  select r.* from pgflow.runs r"                                                              \
    "  where ($1::text is null or r.flow_slug = $1 or r.flow_slug in ("                            \
    "           select f.flow_slug from pgflow.flows f where f.alias = $1))"                       \
    "    and ($2::text is null or r.status = $2)"                                                  \
    "  order by r.started_at desc limit $3::int), "                                                \
    "counted as ("                                                                                 \
    "  select c.run_id, count(t.run_id) as tasks,"                                                 \
    "         count(*) filter (where t.status = 'completed') as done"                              \
    "  from chosen c left join pgflow.step_tasks t on t.run_id = c.run_id group by c.run_id) "

static const struct query_print print = {
    .sql = CHOSEN
    "select c.run_id as run, c.flow_slug as flow, c.status, n.done || '/' || n.tasks as tasks,"
    " to_char(c.started_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') as \"started (UTC)\","
    " date_trunc('milliseconds', coalesce(c.completed_at, c.failed_at, clock_timestamp())"
    "   - c.started_at)::text as took"
    " from chosen c join counted n using (run_id) order by c.started_at desc",
    .json_sql = CHOSEN "select c.run_id as run, c.flow_slug as flow, c.status, n.tasks, n.done,"
                       " c.remaining_steps, c.started_at, c.completed_at, c.failed_at"
                       " from chosen c join counted n using (run_id) order by c.started_at desc",
    .nothing = "no runs",
    .flexible = 1,
};

static bool check_status(const char *status, struct error *error)
{
    static const char *const known[] = {"started", "completed", "failed", "cancelled"};
    enum { KNOWN = sizeof known / sizeof known[0] };
    for (size_t i = 0; status != NULL && i < KNOWN; i++) {
        if (strcmp(status, known[i]) == 0)
            return true;
    }
    const char *near = status != NULL ? text_nearest(status, known, KNOWN) : NULL;
    return status == NULL ||
           error_set(error, ERROR_USAGE,
                     "--status '%s': give started, completed, failed or cancelled%s%s", status,
                     near != NULL ? "; did you mean " : "", near != NULL ? near : "");
}

static int execute(struct invocation *invocation, struct error *error)
{
    char limit[16];
    int number = 0;
    const char *status = invocation_value(invocation, "status");
    const char *values[] = {invocation_value(invocation, "flow"), status, limit};
    if (!check_status(status, error) ||
        !invocation_number(invocation, "limit", 1, 10000, 20, &number, error))
        return FAILED;
    /* That a name with a slip has no runs would be no answer. */
    if (values[0] != NULL && !query_require_flow(invocation->db, values[0], error))
        return FAILED;
    (void)snprintf(limit, sizeof limit, "%d", number);
    return watch_print(invocation, &print, values, 3, error);
}

const struct command command_runs = {
    .name = "runs",
    .arguments = "",
    .summary = "list runs, the newest first",
    .help = "Prints one line for each run: its status, the tasks done, when it started and how\n"
            "long it took.\n",
    .needs_database = true,
    .examples = "pgflowctl runs --flow audit --status failed\n"
                "pgflowctl runs --watch\n",
    .run = execute,
    .options = {{"flow", "FLOW", "only runs of this concrete flow or alias"},
                {"status", "started|completed|failed|cancelled", "only these"},
                {"limit", "N", "at most N runs (default: 20)"},
                {"watch", NULL, "again every two seconds, until interrupted"}},
};
