/*
 * pgflowctl run ID: one run, its steps, its output.
 */
#include "ctl/command.h"
#include "ctl/query.h"

#include "base/text.h"
#include "ctl/json_output.h"
#include "ctl/plain.h"
#include "ctl/table.h"
#include "db/sync.h"

#include <stdio.h>

static const char run_sql[] =
    "select r.run_id as run, r.flow_slug as flow, f.alias, r.status, r.started_at, r.completed_at,"
    " r.failed_at, date_trunc('milliseconds', coalesce(r.completed_at, r.failed_at,"
    "   clock_timestamp()) - r.started_at)::text as took, r.output"
    " from pgflow.runs r join pgflow.flows f using (flow_slug) where r.run_id = $1::uuid";

/* In the order of the flow's steps. */
#define STEP_ROWS                                                                                  \
    " from pgflow.step_states s"                                                                   \
    " join pgflow.steps d using (flow_slug, step_slug)"                                            \
    " left join lateral ("                                                                         \
    "   select count(*) as tasks, count(*) filter (where t.status = 'completed') as done,"         \
    "          max(t.attempts_count) as attempts"                                                  \
    "   from pgflow.step_tasks t where t.run_id = s.run_id and t.step_slug = s.step_slug) t on "   \
    "true"                                                                                         \
    " where s.run_id = $1::uuid order by d.step_index"

static const char steps_sql[] =
    "select s.step_slug as step, d.step_type as type,"
    " s.status || coalesce(' (' || s.skip_reason || ')', '') as status, d.queue_name as queue,"
    " t.done || '/' || coalesce(s.initial_tasks::text, '?') as tasks, t.attempts,"
    " date_trunc('milliseconds', coalesce(s.completed_at, s.failed_at, s.skipped_at,"
    "   clock_timestamp()) - s.started_at)::text as took, s.error_message as error" STEP_ROWS;
static const char steps_json_sql[] =
    "select s.step_slug as step, d.step_type as type, s.status, s.skip_reason,"
    " d.queue_name as queue, t.tasks, t.done, s.initial_tasks, t.attempts, s.started_at,"
    " s.completed_at, s.failed_at, s.skipped_at, s.error_message as error" STEP_ROWS;

/* What the live tasks wait for. */
static const char waits_sql[] =
    "select w.step_slug as step, w.state, w.tasks,"
    " date_trunc('second', coalesce(w.until, w.since))::text as \"since, or until\", w.reason"
    " from pgflow.run_waits($1::uuid) w";
static const char waits_json_sql[] =
    "select w.step_slug as step, w.state, w.tasks, w.since, w.until, w.reason"
    " from pgflow.run_waits($1::uuid) w";

enum { RUN, FLOW, ALIAS, STATUS, STARTED, COMPLETED, FAILED_AT, TOOK, OUTPUT };
enum { STEP_ERROR = 7, WAIT_REASON = 4 };

static void print_run(const struct db_rows *run, const struct db_rows *steps,
                      const struct db_rows *waits, bool json)
{
    if (json) {
        printf("{\"run\": ");
        json_print_row(stdout, run, 0);
        printf(",\n \"steps\": ");
        json_print_rows(stdout, steps);
        printf(",\n \"waits\": ");
        json_print_rows(stdout, waits);
        printf("}\n");
        return;
    }
    printf("run      %s\nflow     %s (alias %s)\nstatus   %s\nstarted  %s\ntook     %s\n\n",
           db_rows_text(run, 0, RUN), db_rows_text(run, 0, FLOW), db_rows_text(run, 0, ALIAS),
           db_rows_text(run, 0, STATUS), db_rows_text(run, 0, STARTED), db_rows_text(run, 0, TOOK));
    table_print_rows(steps, STEP_ERROR);
    if (db_rows_count(waits) > 0) {
        putchar('\n');
        table_print_rows(waits, WAIT_REASON);
    }
}

static int print_steps(struct invocation *invocation, const struct db_rows *run, const char *id,
                       struct error *error)
{
    bool json = invocation->json;
    struct db_rows *waits =
        query_rows(invocation->db, json ? waits_json_sql : waits_sql, &id, 1, error);
    struct db_rows *steps =
        waits != NULL ? query_rows(invocation->db, json ? steps_json_sql : steps_sql, &id, 1, error)
                      : NULL;
    bool done = steps != NULL;

    if (done)
        print_run(run, steps, waits, json);
    db_rows_destroy(waits);
    db_rows_destroy(steps);
    return done ? DONE : FAILED;
}

static int print_output(const struct db_rows *run, const char *id, struct error *error)
{
    const char *output = db_rows_text(run, 0, OUTPUT);
    if (output == NULL) {
        (void)error_set(error, ERROR_ANSWER_NO, "run %s is %s and has no output", id,
                        db_rows_text(run, 0, STATUS));
        return FAILED;
    }
    plain_print_json(stdout, output);
    printf("\n");
    return DONE;
}

static int execute(struct invocation *invocation, struct error *error)
{
    const char *id = invocation->arguments[0];
    int status = FAILED;
    if (!text_is_uuid(id)) {
        (void)error_set(error, ERROR_USAGE, "'%s' is no run id; pgflowctl runs lists the newest",
                        id);
        return FAILED;
    }
    struct db_rows *run = query_rows(invocation->db, run_sql, &id, 1, error);
    if (run == NULL)
        return FAILED;
    if (db_rows_count(run) == 0) {
        (void)error_set(error, ERROR_ANSWER_NO,
                        "there is no run %s; pgflowctl runs lists the newest", id);
    } else if (invocation_value(invocation, "output") != NULL) {
        status = print_output(run, id, error);
    } else {
        status = print_steps(invocation, run, id, error);
    }
    db_rows_destroy(run);
    return status;
}

const struct command command_run = {
    .name = "run",
    .arguments = "RUN",
    .summary = "show one run with its steps",
    .help = "With --output it prints only the run's output, as JSON.\n",
    .least = 1,
    .most = 1,
    .needs_database = true,
    .examples = "pgflowctl run 0b7c5bd2-6d3c-4a3a-9a51-0a5f7b1f6a10\n"
                "pgflowctl run 0b7c5bd2-6d3c-4a3a-9a51-0a5f7b1f6a10 --output | jq .\n",
    .run = execute,
    .options = {{"output", NULL, "print only the run's output"}},
};
