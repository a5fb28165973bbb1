/*
 * pgflowctl coverage QUEUE: what workers of the queue must support, who does,
 * and which live worker does not.
 */
#include "ctl/command.h"
#include "ctl/query.h"

#include "ctl/json_output.h"
#include "ctl/table.h"
#include "db/sync.h"

#include <stdio.h>

/* A worker that serves nothing here counts neither as covering nor as lacking. */
static const char coverage_sql[] =
    "with live as ("
    "  select w.worker_id from pgflow.workers w"
    "  where lower(w.queue_name) = lower($1) and pgflow.worker_is_live(w.worker_id) and not "
    "w.standby"
    "    and exists (select from pgflow.served_pairs(w.worker_id))),"
    " asked as (select * from pgflow.queue_coverage($1)),"
    " judged as ("
    "  select a.flow_slug, a.step_slug, a.reasons, l.worker_id,"
    "    l.worker_id is not null and exists (select from pgflow.served_pairs(l.worker_id) p"
    "      where p.flow_slug = a.flow_slug"
    "        and p.step_slug = a.step_slug and not p.held) as covers"
    "  from asked a left join live l on true)"
    " select j.flow_slug as flow, j.step_slug as step, array_to_string(j.reasons, ' ') as reasons,"
    "   count(*) filter (where j.covers) as workers,"
    "   case when bool_or(j.covers) then '' else 'no worker' end as gap,"
    "   coalesce(string_agg(j.worker_id::text, ' ') filter (where not j.covers), '') as lacking"
    " from judged j group by 1, 2, 3 order by 1, 2";
enum { FLOW, STEP, REASONS, WORKERS, GAP, LACKING };

/* True when nothing is missing. */
static bool print_problems(const struct db_rows *rows, const char *queue)
{
    size_t gaps = 0;
    size_t lacking = 0;
    for (size_t i = 0; i < db_rows_count(rows); i++) {
        gaps += *db_rows_text(rows, i, GAP) != '\0';
        lacking += *db_rows_text(rows, i, LACKING) != '\0';
    }
    if (gaps > 0)
        fprintf(stderr,
                "\n%zu of %zu steps have no live worker on queue %s: start a host with the modules "
                "of those flows\n",
                gaps, db_rows_count(rows), queue);
    else if (lacking > 0)
        fprintf(stderr,
                "\n%zu steps are not supported by every worker of queue %s: such a worker stops "
                "when it reads one; give it all modules\n",
                lacking, queue);
    return gaps == 0 && lacking == 0;
}

static int execute(struct invocation *invocation, struct error *error)
{
    const char *queue = invocation->arguments[0];
    if (!query_require_queue(invocation->db, queue, error))
        return FAILED;
    struct db_rows *rows = query_rows(invocation->db, coverage_sql, &queue, 1, error);
    if (rows == NULL)
        return FAILED;
    if (invocation->json)
        json_print_rows(stdout, rows);
    else if (db_rows_count(rows) == 0)
        printf("nothing is asked of queue %s\n", queue);
    else
        table_print_rows(rows, LACKING);
    (void)fflush(stdout);
    bool covered = print_problems(rows, queue);
    db_rows_destroy(rows);
    return covered ? DONE : ERROR_ANSWER_NO;
}

const struct command command_coverage = {
    .name = "coverage",
    .arguments = "QUEUE",
    .summary = "show what the workers of a queue must support, and whether they do",
    .help = "Prints one line for each required step, with the reasons and its live workers. Exit\n"
            "1 if a step has no worker, or if a live worker of the queue lacks a step: every\n"
            "worker of a queue must support every message on it.\n",
    .least = 1,
    .most = 1,
    .needs_database = true,
    .examples = "pgflowctl coverage audit || echo do not deploy\n",
    .run = execute,
};
