/*
 * Carries out what idle.c decides, on the session that listens. What became visible before it fell
 * asleep is found by a claim that is sent after the answer (docs/internals/wake.md).
 */
#include "worker/worker_private.h"

#include "log/log.h"

static void tell(const struct worker *worker, const char *before)
{
    const char *name = idle_name(&worker->idle);

    if (before != name)
        log_debug("idle", "whether a start must notify this host", LOG_QUEUE(worker->queue),
                  LOG_FIELD_TEXT("from", before), LOG_FIELD_TEXT("to", name));
}

static void take_answer(struct worker *worker, const struct db_status *status, const char *what,
                        enum idle_state state)
{
    const char *before = idle_name(&worker->idle);
    bool ended = worker->idle.out == IDLE_CALL_END;

    if (idle_answered(&worker->idle, state, uv_hrtime()) || ended)
        claim_loop_expect_work(worker);
    tell(worker, before);
    if (worker->life.state != WORKER_STOPPED && status->outcome == DB_ERROR)
        (void)answer_is_there(worker, status, what);
    worker_wake(worker);
}

static void on_begun(void *ctx, const struct db_status *status, const enum db_idle *answer)
{
    static const enum idle_state states[] = {[DB_IDLE_AWAKE] = IDLE_AWAKE,
                                             [DB_IDLE_WATCHED] = IDLE_WATCHED,
                                             [DB_IDLE_ASLEEP] = IDLE_ASLEEP};

    take_answer(ctx, status, "begin_idle", answer != NULL ? states[*answer] : IDLE_AWAKE);
}

static void on_ended(void *ctx, const struct db_status *status)
{
    take_answer(ctx, status, "end_idle", IDLE_AWAKE);
}

void idle_run(struct worker *worker)
{
    bool claims = worker->life.state == WORKER_RUNNING && worker->up &&
                  worker->suspended_count < registry_pair_count(worker->registry);
    bool has_room = task_count_in_pool(&worker->tasks) < (uint32_t)worker->settings->concurrency;
    enum idle_call call = idle_next_call(&worker->idle, claims, has_room, uv_hrtime());

    if (call == IDLE_CALL_END)
        db_end_idle(worker->db, on_ended, worker);
    else if (call != IDLE_CALL_NONE)
        db_begin_idle(worker->db, worker->queue, call == IDLE_CALL_BEGIN, on_begun, worker);
}

void idle_on_listening(struct worker *worker, bool listening)
{
    const char *before = idle_name(&worker->idle);

    idle_set_listening(&worker->idle, listening);
    tell(worker, before);
    claim_loop_expect_work(worker);
}
