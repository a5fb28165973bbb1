/*
 * --check: steps 6 to 8 of a start inside one transaction that is rolled back, then the banner as
 * it would be. A start that would fail fails here with the same text and code.
 */
#include "worker/worker_private.h"

#include "log/log.h"

static void on_ended(void *ctx, const struct db_status *status)
{
    struct worker *worker = ctx;

    if (status->outcome != DB_OK)
        log_warn("call_failed", "the connection went before the rollback; nothing was committed",
                 LOG_QUEUE(worker->queue), LOG_ERROR(status->text));
    stop_begin(worker, DRAIN_THEN_EXIT, ERROR_NONE, "checked; nothing was changed");
}

void check_end(struct worker *worker)
{
    start_banner_show(worker);
    db_check_end(worker->db, on_ended, worker);
}
