/*
 * After each reconnect: releases claims whose answer was lost with the old connection. The
 * database started those tasks for this worker, which never heard of them; release_tasks_except
 * names its in-flight claims.
 *
 * No claim may be in flight meanwhile: its tasks would be started and not be named. A claim that
 * was still running on the lost connection makes the call wait (it has locked the worker's row);
 * one that had not begun when the connection broke can commit later, so the call is made once more
 * a statement deadline after the first.
 */
#include "worker/worker_private.h"

#include <stdlib.h>

#include "log/log.h"

enum { RETRY_MS = 1000 };

static void once_more(uv_timer_t *timer)
{
    struct worker *worker = timer->data;

    worker->reclaim.state = RECLAIM_WANTED;
    worker->reclaim.again = false;
    worker_wake(worker);
}

static void retry(uv_timer_t *timer)
{
    struct worker *worker = timer->data;

    worker->reclaim.state = RECLAIM_WANTED;
    worker_wake(worker);
}

void reclaim_want(struct worker *worker)
{
    if (worker->identity.id[0] == '\0' || worker->identity.standby)
        return;
    (void)uv_timer_stop(&worker->reclaim.timer);
    worker->reclaim.state = RECLAIM_WANTED;
    worker->reclaim.again = true;
    worker_wake(worker);
}

static void on_released(void *ctx, const struct db_status *status, const int *released)
{
    struct worker *worker = ctx;

    if (worker->life.state == WORKER_STOPPED)
        return;
    if (!answer_is_there(worker, status, "release_tasks_except")) {
        worker->reclaim.state = RECLAIM_PAUSED;
        (void)uv_timer_start(&worker->reclaim.timer, retry, RETRY_MS, 0);
        return;
    }
    if (*released > 0)
        log_warn("claims_given_back", "tasks of claims whose answer was lost were released",
                 LOG_QUEUE(worker->queue), LOG_WORKER(worker->identity.id),
                 LOG_FIELD_INT("count", *released));
    worker->reclaim.state = RECLAIM_NONE;
    if (worker->reclaim.again)
        (void)uv_timer_start(&worker->reclaim.timer, once_more,
                             (uint64_t)answer_deadline_ms(worker->settings), 0);
    worker_wake(worker);
}

void reclaim_run(struct worker *worker)
{
    const struct task *task;

    if (worker->reclaim.state != RECLAIM_WANTED || !worker->up || worker->claims.in_flight)
        return;
    struct db_task_ref *in_flight = calloc(task_count(&worker->tasks) + 1, sizeof *in_flight);
    size_t count = 0;
    if (in_flight == NULL)
        return;
    TAILQ_FOREACH (task, &worker->tasks.tasks, link)
        in_flight[count++] = (struct db_task_ref){.run_id = task->row->run_id,
                                                  .step = task->row->step,
                                                  .task_index = task->row->task_index,
                                                  .claim_no = task->row->claim_no};
    worker->reclaim.state = RECLAIM_SENT;
    db_release_tasks_except(worker->db, worker->identity.id, in_flight, count, on_released, worker);
    free(in_flight);
}
