/*
 * pgflowctl queue [NAME]: what waits and what runs, by queue, flow and step.
 */
#include "ctl/command.h"
#include "ctl/query.h"
#include "ctl/watch.h"

/* $1: the queue, null for all. A queue without a live task has one row. */
#define STATS                                                                                      \
    " from pgflow.queues q left join lateral pgflow.queue_tasks(q.queue_name) s on true"           \
    " cross join lateral (select count(*) as workers from pgflow.workers w"                        \
    "   where lower(w.queue_name) = q.queue_name and not w.standby"                                \
    "     and pgflow.worker_is_live(w.worker_id)) w"                                               \
    " where $1::text is null or q.queue_name = lower($1)"                                          \
    " order by q.queue_name, s.flow_slug, s.step_slug"

/* For how long the oldest ready task has waited; null: none is ready. */
#define AGE                                                                                        \
    "(case when s.ready_since is not null"                                                         \
    "  then greatest(clock_timestamp() - s.ready_since, interval '0') end)"

static const struct query_print print = {
    .sql =
        "select q.queue_name as queue, w.workers, s.flow_slug as flow, s.step_slug as step,"
        " coalesce(s.ready, 0) as ready, coalesce(s.delayed, 0) as delayed,"
        " coalesce(s.started, 0) as running, date_trunc('second', " AGE ")::text as oldest" STATS,
    .json_sql = "select q.queue_name as queue, q.kind, w.workers, s.flow_slug as flow,"
                " s.step_slug as step, coalesce(s.ready + s.delayed, 0) as waiting,"
                " coalesce(s.ready, 0) as ready, coalesce(s.delayed, 0) as delayed,"
                " coalesce(s.started, 0) as running,"
                " extract(epoch from " AGE ") as oldest_seconds" STATS,
    .nothing = "no queues",
    .flexible = 0,
};

static int execute(struct invocation *invocation, struct error *error)
{
    const char *name = invocation->count > 0 ? invocation->arguments[0] : NULL;
    if (name != NULL && !query_require_queue(invocation->db, name, error))
        return FAILED;
    return watch_print(invocation, &print, &name, 1, error);
}

const struct command command_queue = {
    .name = "queue",
    .arguments = "[QUEUE]",
    .summary = "show what waits and what runs on the queues",
    .help = "Prints one line for each flow and step with live tasks: how many are ready, delayed\n"
            "and started, how long the oldest ready one has waited, and how many live workers\n"
            "the queue has.\n",
    .most = 1,
    .needs_database = true,
    .examples = "pgflowctl queue --watch\n"
                "pgflowctl queue audit\n",
    .run = execute,
    .options = {{"watch", NULL, "again every two seconds, until interrupted"}},
};
