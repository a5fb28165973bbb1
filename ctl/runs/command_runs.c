/*
 * pgflowctl runs: runs, the latest first; how many, and what they have in common.
 */
#include "ctl/command.h"
#include "ctl/json_output.h"
#include "ctl/query.h"
#include "ctl/runs/run_filter.h"
#include "ctl/watch.h"

#include "base/buf.h"
#include "db/sync.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

enum { PAGE = 1000 };

/* $1 the filter, $2 and $3 the place, $4 how many. The tasks of a run are counted only for the
 * rows that are shown. */
#define FOUND                                                                                      \
    "with found as materialized ("                                                                 \
    "  select f.*, row_number() over () as place"                                                  \
    "  from pgflow.find_runs($1::jsonb, $2::timestamptz, $3::uuid, $4::int) f), "                  \
    "counted as materialized ("                                                                    \
    "  select c.place, count(t.run_id) as tasks,"                                                  \
    "         count(*) filter (where t.status = 'completed') as done"                              \
    "  from found c left join lateral (select t.run_id, t.status from pgflow.step_tasks t"         \
    "    where t.run_id = c.run_id offset 0) t on true group by c.place) "

#define FROM_FOUND                                                                                 \
    " from found c join counted n on n.place = c.place"                                            \
    " join lateral (select r.* from pgflow.runs r where r.run_id = c.run_id offset 0) r on true"   \
    " left join lateral (select w.info ->> 'host' as host from pgflow.workers w"                   \
    "   where w.worker_id = c.worker_id offset 0) w on true"                                       \
    " order by c.place"

#define UTC(time) "to_char(" time " at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS')"
#define TOOK                                                                                       \
    "date_trunc('milliseconds', coalesce(r.completed_at, r.failed_at, clock_timestamp())"          \
    "  - r.started_at)::text as took"

static const struct query_print print_runs = {
    .sql = FOUND "select c.run_id as run, c.flow_slug as flow, c.status,"
                 " n.done || '/' || n.tasks as tasks, " UTC(
                     "r.started_at") " as \"started (UTC)\", " TOOK FROM_FOUND,
    .json_sql = FOUND "select c.run_id as run, c.at, c.flow_slug as flow, c.status, n.tasks,"
                      " n.done, r.remaining_steps, r.started_at, r.completed_at, r.failed_at,"
                      " c.step_slug as step, c.error, w.host" FROM_FOUND,
    .nothing = "no runs",
    .flexible = 1,
};

/* Of runs that ended badly it is the reason that matters. */
static const struct query_print print_failures = {
    .sql = FOUND "select c.run_id as run, c.flow_slug as flow, c.status, " UTC(
        "c.at") " as \"ended (UTC)\", c.step_slug as step, c.error" FROM_FOUND,
    .nothing = "no runs",
    .flexible = 5,
};

static const struct query_print print_groups = {
    .sql = "select coalesce(g.name, '-') as \"name\", g.runs, " UTC(
        "g.first_at") " as \"first (UTC)\", " UTC("g.last_at") " as \"last (UTC)\", g.example_run"
                                                               " as \"latest run\""
                                                               " from pgflow.group_runs($1::jsonb,"
                                                               " $2) g",
    .json_sql = "select g.name, g.runs, g.first_at, g.last_at, g.example_run"
                " from pgflow.group_runs($1::jsonb, $2) g",
    .nothing = "no runs",
    .flexible = 0,
};

/* As JSON each page goes out as it comes, so that all of history may be asked for. */
static bool print_page(void *ctx, struct db_rows *page, struct error *error)
{
    int64_t *printed = ctx;
    (void)error;
    for (size_t i = 0; i < db_rows_count(page); i++) {
        printf("%s", *printed > 0 ? ",\n " : "");
        json_print_row(stdout, page, i);
        (*printed)++;
    }
    db_rows_destroy(page);
    return true;
}

static int print_pages(struct invocation *invocation, const char *filter, int limit,
                       struct error *error)
{
    int64_t printed = 0;
    struct run_walk walk = {.sql = print_runs.json_sql,
                            .filter = filter,
                            .most = limit,
                            .page = PAGE,
                            .take = print_page,
                            .ctx = &printed};
    printf("[");
    bool done = run_walk(invocation, &walk, error);
    printf("]\n");
    return done ? DONE : FAILED;
}

static int print_list(struct invocation *invocation, const char *filter, int limit,
                      struct error *error)
{
    char most[16];
    const char *values[] = {filter, NULL, NULL, most};
    bool failures = run_filter_is_by_end(invocation) ||
                    invocation_value(invocation, "error") != NULL ||
                    invocation_value(invocation, "step") != NULL;
    if (invocation->json && limit > PAGE && invocation_value(invocation, "watch") == NULL)
        return print_pages(invocation, filter, limit, error);
    (void)snprintf(most, sizeof most, "%d", limit);
    return watch_print(invocation, failures && !invocation->json ? &print_failures : &print_runs,
                       values, 4, error);
}

static int print_count(struct invocation *invocation, const char *filter, struct error *error)
{
    int64_t count = 0;
    if (!run_filter_count(invocation, filter, &count, error))
        return FAILED;
    printf(invocation->json ? "{\"runs\": %" PRId64 "}\n" : "%" PRId64 "\n", count);
    return DONE;
}

static int run_with(struct invocation *invocation, const char *filter, struct error *error)
{
    const char *by = invocation_value(invocation, "group-by");
    int limit = 0;
    if (by != NULL) {
        const char *values[] = {filter, by};
        return watch_print(invocation, &print_groups, values, 2, error);
    }
    if (invocation_value(invocation, "count") != NULL)
        return print_count(invocation, filter, error);
    if (!invocation_number(invocation, "limit", 1, INT_MAX, 20, &limit, error))
        return FAILED;
    return print_list(invocation, filter, limit, error);
}

static int execute(struct invocation *invocation, struct error *error)
{
    struct buf filter;
    buf_init(&filter, LIMIT_DB_STATEMENT_BYTES);
    const char *flow = invocation_value(invocation, "flow");
    int status = FAILED;
    /* That a name with a slip has no runs would be no answer. */
    if (run_filter_read(invocation, NULL, "", &filter, error) &&
        (flow == NULL || query_require_flow(invocation->db, flow, error)))
        status = run_with(invocation, filter.data, error);
    buf_free(&filter);
    return status;
}

const struct command command_runs = {
    .name = "runs",
    .arguments = "",
    .summary = "list runs, count them, or group them by what they share",
    .help =
        "Prints one line for each run, the latest first: its status, the tasks done, when it\n"
        "started and how long it took. If you ask for failed or cancelled runs, the lines show\n"
        "the step that failed and its error instead. --group-by is the first look at a bad\n"
        "night: it counts the runs by error, step, build or host. Errors that differ only in\n"
        "numbers and ids are one group. The options that find runs are the same for retry,\n"
        "resume and cancel.\n",
    .needs_database = true,
    .examples = "pgflowctl runs --failed --since 1d --group-by error\n"
                "pgflowctl runs --failed --flow audit --step fetch --error 'timed? out'\n"
                "pgflowctl runs --watch\n",
    .run = execute,
    .options = {RUN_FILTER_OPTIONS,
                {"limit", "N", "at most N runs (default: 20)"},
                {"count", NULL, "print only how many there are"},
                {"group-by", "error|step|build|host|flow|status",
                 "count them by what they share, the largest group first"},
                {"watch", NULL, "again every two seconds, until interrupted"}},
};
