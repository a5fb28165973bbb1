/*
 * pgflowctl workers: the processes that serve queues.
 */
#include "ctl/command.h"
#include "ctl/query.h"
#include "ctl/watch.h"

#include "db/sync.h"

/* $1 queue, $2 all. A stand-by row is alive, but claims nothing; not ready: its modules do not
 * cover its queue. */
#define CHOSEN                                                                                     \
    "with chosen as ("                                                                             \
    "  select w.*, case when w.stopped_at is not null then 'stopped'"                              \
    "                   when pgflow.worker_is_gone(w.worker_id) then 'silent'"                     \
    "                   when w.deprecated_at is not null then 'finishing'"                         \
    "                   when pgflow.worker_waits_for_coverage(w.worker_id) then 'not ready'"       \
    "                   when w.standby then 'standing by'"                                         \
    "                   when pgflow.worker_is_live(w.worker_id) then 'working' else 'late' end "   \
    "as state,"                                                                                    \
    "    (select count(*) from pgflow.step_tasks t"                                                \
    "     where t.status = 'started' and t.last_worker_id = w.worker_id) as tasks, f.reason"       \
    "  from pgflow.workers w left join pgflow.fenced_workers() f using (worker_id)"                \
    "  where $1::text is null or lower(w.queue_name) = lower($1)) "
#define WHERE                                                                                      \
    " from chosen c where $2::boolean or c.state not in ('stopped', 'silent')"                     \
    " order by c.queue_name, c.function_name, c.started_at, c.worker_id"

static const struct query_print print = {
    .sql = CHOSEN
    "select c.worker_id as worker, c.queue_name as queue, c.function_name as function,"
    " c.state || coalesce(': ' || c.reason, '') as state,"
    " c.tasks, date_trunc('second', clock_timestamp() - c.last_heartbeat_at)::text as heartbeat,"
    " c.info ->> 'host' as host, (c.info ->> 'pid')::int as pid,"
    " coalesce((select string_agg(m ->> 'flow', ' ') from jsonb_array_elements("
    "   case jsonb_typeof(c.info -> 'modules') when 'array' then c.info -> 'modules' else '[]' end)"
    "   m), (select string_agg(distinct p.flow_slug, ' ') from pgflow.served_pairs(c.worker_id) p))"
    " as flows" WHERE,
    .json_sql = CHOSEN
    "select c.worker_id as worker, c.queue_name as queue, c.function_name as function, c.state,"
    " c.standby, c.reason as fence, c.tasks, c.started_at, c.last_heartbeat_at, c.deprecated_at, "
    "c.stopped_at, c.info,"
    " (select coalesce(jsonb_agg(jsonb_build_object('flow', m ->> 'flow', 'file', m ->> 'file',"
    "   'build_id', m ->> 'buildId', 'sha256', m ->> 'sha256')), '[]') from jsonb_array_elements("
    "   case jsonb_typeof(c.info -> 'modules') when 'array' then c.info -> 'modules' else '[]' end)"
    "   m) as modules,"
    " (select coalesce(jsonb_agg(jsonb_build_object('flow', p.flow_slug, 'step', p.step_slug,"
    "   'held', p.held) order by p.flow_slug, p.step_slug), '[]') from"
    "   pgflow.served_pairs(c.worker_id) p) as pairs, c.pgflow_version" WHERE,
    .nothing = "no workers",
    .flexible = 8,
};

/* Workers may outlive their queue: it went with its flow, and they have not noticed. */
static bool require_queue(struct invocation *invocation, const char *queue, struct error *error)
{
    struct db_rows *rows = query_rows(
        invocation->db, "select 1 from pgflow.workers where lower(queue_name) = lower($1) limit 1",
        &queue, 1, error);
    if (rows == NULL)
        return false;
    bool known = db_rows_count(rows) > 0;
    db_rows_destroy(rows);
    return known || query_require_queue(invocation->db, queue, error);
}

static int execute(struct invocation *invocation, struct error *error)
{
    const char *values[] = {invocation_value(invocation, "queue"),
                            invocation_value(invocation, "all") != NULL ? "t" : "f"};
    if (values[0] != NULL && !require_queue(invocation, values[0], error))
        return FAILED;
    return watch_print(invocation, &print, values, 2, error);
}

const struct command command_workers = {
    .name = "workers",
    .arguments = "",
    .summary = "list worker processes",
    .help = "Lists live workers, what they serve, and how old their last heartbeat is.\n",
    .needs_database = true,
    .examples = "pgflowctl workers --queue audit --watch\n"
                "pgflowctl workers --all --json | jq '.[].info.modules'\n",
    .run = execute,
    .options = {{"queue", "QUEUE", "only workers of this queue"},
                {"all", NULL, "those that have stopped or fell silent, too"},
                {"watch", NULL, "again every two seconds, until interrupted"}},
};
