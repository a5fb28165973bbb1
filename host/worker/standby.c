/*
 * Standing by: the function is disabled, so the host keeps a visible row, beats and helps with
 * recovery, but compiles and claims nothing. Once enabled it goes on with a start; once deprecated
 * it ends.
 */
#include "worker/worker_private.h"

#include "log/log.h"
#include "worker/startup_report.h"

static void explain(struct worker *worker, const struct db_function_state *state)
{
    if (!worker->standby.is_explained)
        startup_report_disabled(worker, state);
    worker->standby.is_explained = true;
}

/* Tells why, and no more: a host goes on after a heartbeat only. */
static void on_reason(void *ctx, const struct db_status *status,
                      const struct db_function_state *state)
{
    struct worker *worker = ctx;

    worker->standby.call_is_out = false;
    if (worker->life.state == WORKER_STANDBY &&
        connection_answered(worker, status, "reading the state of the worker function") &&
        !state->enabled)
        explain(worker, state);
}

static void ask(struct worker *worker, db_function_state_done done)
{
    worker->standby.call_is_out = true;
    db_worker_function_state(worker->db, worker->function, done, worker);
}

static void on_registered(void *ctx, const struct db_status *status,
                          const enum db_registered *answer)
{
    struct worker *worker = ctx;

    worker->standby.call_is_out = false;
    if (worker->life.state != WORKER_STANDBY ||
        !connection_answered(worker, status, "register_worker (standing by)"))
        return; /* the next tick registers again */
    if (*answer == DB_REGISTERED) {
        registration_take(worker, true);
        log_info("standby", "standing by until the function is enabled", LOG_QUEUE(worker->queue),
                 LOG_WORKER(worker->identity.id), LOG_FIELD_TEXT("function", worker->function));
        notify_systemd("READY=1\nSTATUS=standing by: the worker function is disabled");
        if (!worker->standby.is_explained)
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
    lifecycle_set(&worker->life, WORKER_STANDBY, why);
    heartbeat_start(worker);
    maintenance_start(worker);
    if (!worker->identity.standby)
        register_row(worker);
    return true;
}

static void on_state(void *ctx, const struct db_status *status,
                     const struct db_function_state *state)
{
    struct worker *worker = ctx;

    worker->standby.call_is_out = false;
    if (worker->life.state != WORKER_STANDBY ||
        !connection_answered(worker, status, "reading the state of the worker function"))
        return;
    if (!state->enabled) {
        explain(worker, state);
        return;
    }
    worker->standby.is_explained = false;
    lifecycle_set(&worker->life, WORKER_STARTING, "the function is enabled");
    worker->startup.step = STARTUP_DEPLOY;
    worker->startup.module = 0;
    startup_run(worker);
}

void standby_tick(struct worker *worker)
{
    if (!worker->identity.standby && !worker->standby.call_is_out)
        register_row(worker);
}

void standby_ask_whether_enabled(struct worker *worker)
{
    if (!worker->standby.call_is_out)
        ask(worker, on_state);
}
