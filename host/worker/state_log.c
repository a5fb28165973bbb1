/*
 * SIGUSR1: where this host stands, in one line.
 */
#include "worker/worker_private.h"

#include "log/log.h"

void state_log(const struct worker *worker)
{
    const struct task_table *tasks = &worker->tasks;
    struct pool_gauges gauges =
        worker->pool != NULL ? pool_gauges(worker->pool) : (struct pool_gauges){.busy = 0};

    log_info("state", worker_state_name(worker->life.state), LOG_QUEUE(worker->queue),
             LOG_WORKER(worker->identity.id[0] != '\0' ? worker->identity.id : NULL),
             LOG_FIELD_BOOL("database", worker->up),
             LOG_FIELD_INT("waiting", tasks->count[STAGE_WAITING]),
             LOG_FIELD_INT("running", tasks->count[STAGE_RUNNING]),
             LOG_FIELD_INT("unreported", task_count_unreported(tasks)),
             LOG_FIELD_INT("unreported_bytes", tasks->result_bytes),
             LOG_FIELD_INT("results", tasks->results_acknowledged),
             LOG_FIELD_BOOL("claim_in_flight", worker->claims.in_flight),
             LOG_FIELD_BOOL("prefetch", prefetch_is_on(&worker->claims.prefetch, uv_hrtime())),
             LOG_FIELD_INT("held_pairs", worker->suspended_count),
             LOG_FIELD_INT("runners_busy", gauges.busy), LOG_FIELD_INT("runners_idle", gauges.idle),
             LOG_FIELD_INT("runners_starting", gauges.starting));
}
