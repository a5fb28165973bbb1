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
        !database_answered(worker, status, "asking why this host may not start"))
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
        !database_answered(worker, status, "register_worker (standing by)"))
        return; /* the next tick registers again */
    if (*answer == DB_REGISTERED) {
        registration_take(worker, true);
        log_info("standby",
                 worker->uncovered.waits ? "standing by, not ready, until the queue is covered"
                                         : "standing by until it may start",
                 LOG_QUEUE(worker->queue), LOG_WORKER(worker->identity.id),
                 LOG_FIELD_TEXT("function", worker->function));
        if (worker->uncovered.waits)
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
    standby_begin(worker, why);
    return true;
}

void standby_begin(struct worker *worker, const char *why)
{
    lifecycle_set(&worker->life, WORKER_STANDBY, why);
    heartbeat_start(worker);
    maintenance_start(worker);
    if (!worker->identity.standby)
        register_row(worker);
}

void standby_leave(struct worker *worker, const char *why)
{
    worker->standby.is_explained = false;
    lifecycle_set(&worker->life, WORKER_STARTING, why);
    worker->startup.step = STARTUP_DEPLOY;
    worker->startup.module = 0;
    startup_run(worker);
}

static void on_fence(void *ctx, const struct db_status *status, const struct db_fence *fence)
{
    struct worker *worker = ctx;

    worker->standby.call_is_out = false;
    if (worker->life.state != WORKER_STANDBY ||
        !database_answered(worker, status, "asking whether this host may start"))
        return;
    if (fence->reason != DB_FENCE_NONE) {
        uncovered_end(worker); /* its operator wants it to stand by now */
        standby_explain(worker, fence);
        tell_systemd(worker);
    } else if (!worker->uncovered.waits) {
        standby_leave(worker, "the function is enabled");
    }
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
