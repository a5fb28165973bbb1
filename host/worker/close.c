/*
 * The end of everything that is open, in order: the runners, then the database connection, for
 * until the runners are gone this host may have to answer for them, then the handles of the loop.
 */
#include "worker/worker_private.h"

#include "db/db.h"
#include "log/log.h"
#include "worker/telemetry.h"

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void close_handles(void *context)
{
    struct worker *worker = context;

    worker->db = NULL;
    worker->closed = true;
    telemetry_close(worker);
    uv_walk(&worker->loop, close_handle, NULL);
}

static void close_database(void *context)
{
    struct worker *worker = context;

    worker->pool = NULL;
    if (worker->db != NULL)
        db_close(worker->db, close_handles, worker);
    else
        close_handles(worker);
}

void worker_close_all(struct worker *worker)
{
    if (worker->pool != NULL)
        pool_close(worker->pool, close_database);
    else
        close_database(worker);
}

void worker_close(struct worker *worker)
{
    lifecycle_set(&worker->life, WORKER_STOPPED, "nothing is left to do");
    log_info("stopped", "nothing is left to do", LOG_QUEUE(worker->queue),
             LOG_FIELD_INT("code", worker->drain.code));
    worker_close_all(worker);
}
