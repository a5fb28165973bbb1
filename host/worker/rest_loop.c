/*
 * Carries out what rest.c decides, on the session that listens. What became visible before it fell
 * asleep is found by a claim that is sent after the answer (docs/internals/wake.md).
 */
#include "worker/worker_private.h"

#include "log/log.h"

static void tell(const struct worker *worker, const char *before)
{
    const char *name = rest_name(&worker->rest);

    if (before != name)
        log_debug("rest", "whether a start must notify this host", LOG_QUEUE(worker->queue),
                  LOG_FIELD_TEXT("from", before), LOG_FIELD_TEXT("to", name));
}

static void take_answer(struct worker *worker, const struct db_status *status, const char *what,
                        enum rest_state state)
{
    const char *before = rest_name(&worker->rest);
    bool ended = worker->rest.out == REST_CALL_END;

    if (rest_answered(&worker->rest, state, uv_hrtime()) || ended)
        claim_loop_expect_work(worker);
    tell(worker, before);
    if (worker->life.state != WORKER_STOPPED && status->outcome == DB_ERROR)
        (void)connection_answered(worker, status, what);
    worker_wake(worker);
}

static void on_begun(void *ctx, const struct db_status *status, const enum db_rest *answer)
{
    static const enum rest_state states[] = {[DB_REST_AWAKE] = REST_AWAKE,
                                             [DB_REST_WATCHED] = REST_WATCHED,
                                             [DB_REST_ASLEEP] = REST_ASLEEP};

    take_answer(ctx, status, "begin_rest", answer != NULL ? states[*answer] : REST_AWAKE);
}

static void on_ended(void *ctx, const struct db_status *status)
{
    take_answer(ctx, status, "end_rest", REST_AWAKE);
}

void rest_run(struct worker *worker)
{
    bool claims = worker->life.state == WORKER_RUNNING && worker->up &&
                  worker->held_count < registry_pair_count(worker->registry);
    bool has_room = task_count_in_pool(&worker->tasks) < (uint32_t)worker->settings->concurrency;
    enum rest_call call = rest_next_call(&worker->rest, claims, has_room, uv_hrtime());

    if (call == REST_CALL_END)
        db_end_rest(worker->db, on_ended, worker);
    else if (call != REST_CALL_NONE)
        db_begin_rest(worker->db, worker->queue, call == REST_CALL_BEGIN, on_begun, worker);
}

void rest_on_listening(struct worker *worker, bool listening)
{
    const char *before = rest_name(&worker->rest);

    rest_set_listening(&worker->rest, listening);
    tell(worker, before);
    claim_loop_expect_work(worker);
}
