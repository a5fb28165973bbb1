/*
 * Standing by: the function is disabled, or the applied manifests give it to other code, so the
 * host keeps a visible row, beats and helps with recovery, but compiles and claims nothing. Once it
 * may work it goes on with a start; once deprecated it ends. A host whose queue is not covered
 * stands by in the same way, but is not ready: uncovered.c decides how long.
 */
#include "worker/worker_private.h"

#include <stdio.h>

#include "log/log.h"

static void tell_systemd(const struct worker *worker)
{
    char state[sizeof worker->standby.word + 32];

    snprintf(state, sizeof state, "READY=1\nSTATUS=%s", worker->standby.word);
    notify_systemd(state);
}

/* Tells why, and no more: a host goes on after a heartbeat only. */
static void on_reason(void *ctx, const struct db_status *status, const struct db_fence *fence)
{
    struct worker *worker = ctx;

    worker->standby.call_is_out = false;
    if (worker->life.state != WORKER_STANDBY ||
        !answer_is_there(worker, status, "asking why this host may not start"))
        return;
    if (fence->reason != DB_FENCE_NONE)
        standby_explain(worker, fence);
    tell_systemd(worker);
}

static void ask(struct worker *worker, db_fence_done done)
{
    worker->standby.call_is_out = true;
    db_worker_fence(worker->db, worker->function, worker->queue, worker->info, done, worker);
}

static void on_registered(void *ctx, const struct db_status *status,
                          const enum db_registered *answer)
{
    struct worker *worker = ctx;

    worker->standby.call_is_out = false;
    if (worker->life.state != WORKER_STANDBY ||
        !answer_is_there(worker, status, "register_worker (standing by)"))
        return; /* the next tick registers again */
    if (*answer == DB_REGISTERED) {
        registration_take(worker, true);
        log_info("standby",
                 worker->standby.for_gap ? "standing by, not ready, until the queue is covered"
                                         : "standing by until it may start",
                 LOG_QUEUE(worker->queue), LOG_WORKER(worker->identity.id),
                 LOG_FIELD_TEXT("function", worker->function));
        if (worker->standby.for_gap)
            return; /* not ready */
        if (worker->standby.is_explained)
            tell_systemd(worker);
        else
            ask(worker, on_reason);
        return;
    }
    worker_fail(worker, ERROR_UNAVAILABLE,
                "this process was deprecated, or its row is gone; its supervisor should start it "
                "afresh");
}

static void register_row(struct worker *worker)
{
    worker->standby.call_is_out = true;
    registration_send(worker, true, on_registered);
}

static void begin(struct worker *worker, const char *why)
{
    lifecycle_set(&worker->life, WORKER_STANDBY, why);
    worker->standby.ended = NULL;
    heartbeat_start(worker);
    maintenance_start(worker);
    if (!worker->identity.standby)
        register_row(worker);
}

static void on_fence(void *ctx, const struct db_status *status, const struct db_fence *fence)
{
    struct worker *worker = ctx;

    worker->standby.call_is_out = false;
    if (worker->life.state != WORKER_STANDBY ||
        !answer_is_there(worker, status, "asking whether this host may start"))
        return;
    if (fence->reason != DB_FENCE_NONE) {
        worker->standby.for_gap = false; /* its operator wants it to stand by now */
        standby_explain(worker, fence);
        tell_systemd(worker);
    } else if (!worker->standby.for_gap) {
        standby_end(worker, "the function is enabled");
    }
}

bool standby_enter(struct worker *worker, const char *why)
{
    if (worker->settings->exit_if_disabled) {
        worker_fail(worker, ERROR_CONFIG, "%s (function %s) and --exit-if-disabled is given", why,
                    worker->function);
        return false;
    }
    if (!worker->standby.is_explained) {
        worker->standby.reason = DB_FENCE_NONE;
        worker->standby.is_awaited = false;
        worker->standby.word[0] = '\0';
    }
    worker->standby.for_gap = false;
    begin(worker, why);
    return true;
}

void standby_end(struct worker *worker, const char *why)
{
    worker->standby.ended = why;
    worker_wake(worker);
}

const char *standby_take_end(struct worker *worker)
{
    const char *why = worker->standby.ended;

    worker->standby.ended = NULL;
    if (why == NULL || worker->life.state != WORKER_STANDBY)
        return NULL;
    worker->standby.is_explained = false;
    worker->standby.for_gap = false;
    return why;
}

void standby_for_gap(struct worker *worker)
{
    struct standby *standby = &worker->standby;

    standby->is_explained = false;
    standby->reason = DB_FENCE_NONE;
    standby->is_awaited = false;
    snprintf(standby->word, sizeof standby->word,
             "standing by: the given modules do not cover the queue");
    standby->for_gap = true;
    begin(worker, "the given modules do not cover the queue");
}

void standby_tick(struct worker *worker)
{
    if (!worker->identity.standby && !worker->standby.call_is_out)
        register_row(worker);
}

void standby_ask_whether_enabled(struct worker *worker)
{
    if (!worker->standby.call_is_out)
        ask(worker, on_fence);
}
