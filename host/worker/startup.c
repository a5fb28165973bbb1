/*
 * Steps 6 to 11 of a start, one call at a time, each begun by the answer of the one before. A step
 * whose answer is lost, or refused for a passing reason, is taken again; each can bear that. Coming
 * back from stand-by begins at STARTUP_DEPLOY.
 */
#include "worker/worker_private.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "log/log.h"
#include "worker/startup_report.h"

enum { RETRY_MS = 1000 };

static void retry(uv_timer_t *timer)
{
    startup_run(timer->data);
}

/* False: the answer came too late to matter (a stop began), or the step is to be taken again. */
static bool answered(struct worker *worker, const struct db_status *status, const char *what)
{
    worker->startup.call_is_out = false;
    if (worker->life.state != WORKER_STARTING)
        return false;
    if (answer_is_there(worker, status, what))
        return true;
    if (worker->settings->check)
        worker_fail(worker, ERROR_UNAVAILABLE, "%s: %s", what, status->text);
    else if (worker->life.state == WORKER_STARTING)
        (void)uv_timer_start(&worker->startup.retry, retry, RETRY_MS, 0);
    return false;
}

static void next(struct worker *worker, enum startup_step step)
{
    worker->startup.step = step;
    startup_run(worker);
}

static void on_check_begun(void *ctx, const struct db_status *status)
{
    struct worker *worker = ctx;

    worker->startup.call_is_out = false;
    if (worker->life.state != WORKER_STARTING)
        return;
    if (status->outcome == DB_OK)
        next(worker, STARTUP_SCHEMA);
    else
        worker_fail(worker, ERROR_UNAVAILABLE, "--check cannot begin a transaction: %s",
                    status->text);
}

static void on_schema(void *ctx, const struct db_status *status,
                      const struct db_schema_version *schema)
{
    struct worker *worker = ctx;

    if (!answered(worker, status, "reading the schema version"))
        return;
    if (startup_report_schema(worker, schema))
        next(worker, STARTUP_TRACK);
}

static void on_tracked(void *ctx, const struct db_status *status)
{
    if (answered(ctx, status, "tracking the worker function"))
        next(ctx, STARTUP_STATE);
}

static void on_fence(void *ctx, const struct db_status *status, const struct db_fence *fence)
{
    struct worker *worker = ctx;

    if (!answered(worker, status, "asking whether this host may start"))
        return;
    if (fence->reason == DB_FENCE_NONE) {
        next(worker, STARTUP_DEPLOY);
        return;
    }
    standby_explain(worker, fence);
    if (worker->settings->check && !worker->settings->exit_if_disabled)
        next(worker, STARTUP_DEPLOY); /* logged, not waited for */
    else
        (void)standby_enter(worker, standby_why(fence->reason));
}

static void on_deployment(void *ctx, const struct db_status *status,
                          const struct db_deployment *answer)
{
    struct worker *worker = ctx;
    struct worker_module *module = &worker->modules[worker->startup.module];

    if (!answered(worker, status, "ensure_deployment") ||
        !startup_report_deployment(worker, module, answer))
        return;
    worker->startup.module++;
    next(worker, worker->startup.module < worker->module_count ? STARTUP_DEPLOY : STARTUP_COVERAGE);
}

/* A marker that cannot be left or read is none: the start ends. */
static void on_gap_noted(void *ctx, const struct db_status *status, const bool *before)
{
    struct worker *worker = ctx;

    if (status->outcome == DB_ERROR && worker->life.state == WORKER_STARTING) {
        worker->startup.call_is_out = false;
        uncovered_noted(worker, false);
    } else if (answered(worker, status, "noting the gap in the coverage")) {
        uncovered_noted(worker, *before);
    }
}

static void note_gap(struct worker *worker)
{
    worker->startup.call_is_out = true;
    db_note_coverage_gap(worker->db, worker->function, worker->queue, worker->info, on_gap_noted,
                         worker);
}

static void on_missing(void *ctx, const struct db_status *status, const struct db_coverage *missing)
{
    struct worker *worker = ctx;

    if (!answered(worker, status, "checking the coverage of the queue"))
        return;
    if (missing->count > 0 && uncovered_may_be_noted(worker, missing))
        note_gap(worker);
    else if (missing->count > 0)
        return;
    else if (worker->settings->check)
        check_end(worker);
    else
        next(worker, STARTUP_WARM);
}

static void on_warmed_up(void *ctx, const struct db_status *status)
{
    const struct worker *worker = ctx;

    if (status->outcome != DB_OK)
        log_debug("not_warmed_up", "a session plans its statements when they come",
                  LOG_QUEUE(worker->queue), LOG_ERROR(status->text));
}

/* While the first runners start. Nobody waits for the answers: the first claim does, behind them.
 * Behind a transaction pooler the session that learns is not the one that works. */
static void warm_sessions(struct worker *worker)
{
    if (worker->settings->pooled)
        return;
    db_warm_up(worker->db, worker->queue, DB_CLAIM_BEHIND_RESULTS, on_warmed_up, worker);
    if (worker->settings->db_connections > 1)
        db_warm_up(worker->db, worker->queue, DB_CLAIM_BESIDE_RESULTS, on_warmed_up, worker);
}

static void warm_modules(struct worker *worker)
{
    for (size_t i = 0; i < worker->module_count; i++) {
        worker->modules[i].answered = false;
        pool_warm(worker->modules[i].pool);
    }
}

void startup_module_answered(struct worker *worker)
{
    if (worker->startup.step != STARTUP_WARM)
        return;
    for (size_t i = 0; i < worker->module_count; i++)
        if (!worker->modules[i].answered)
            return;
    worker->startup.call_is_out = false;
    next(worker, STARTUP_REGISTER);
}

static void on_registered(void *ctx, const struct db_status *status,
                          const enum db_registered *answer)
{
    struct worker *worker = ctx;

    if (!answered(worker, status, "register_worker"))
        return;
    switch (*answer) {
    case DB_REGISTERED:
        registration_take(worker, false);
        heartbeat_start(worker);
        activation_prepare(worker);
        next(worker, STARTUP_OFFER);
        return;
    case DB_REGISTER_DISABLED:
        (void)standby_enter(worker, "the function was disabled meanwhile");
        return;
    case DB_REGISTER_WRONG_MODULES:
        (void)standby_enter(worker, standby_why(DB_FENCE_WRONG_MODULES));
        return;
    case DB_REGISTER_NOT_IN_MANIFEST:
        (void)standby_enter(worker, standby_why(DB_FENCE_NOT_IN_MANIFEST));
        return;
    case DB_REGISTER_OTHER_QUEUE:
        startup_report_other_queue(worker);
        return;
    case DB_REGISTER_SUPERSEDED:
        worker_fail(worker, ERROR_UNAVAILABLE,
                    "this process was deprecated while it stood by, or its row is gone; its "
                    "supervisor should start it afresh");
        return;
    }
}

static void begin_work(struct worker *worker)
{
    if (worker->life.state != WORKER_STARTING)
        return;
    start_banner_show(worker);
    lifecycle_set(&worker->life, WORKER_RUNNING, "claiming");
    log_info("ready", "claiming", LOG_QUEUE(worker->queue), LOG_WORKER(worker->identity.id));
    notify_systemd("READY=1\nSTATUS=claiming");
    claim_loop_start(worker);
}

static void send_step(struct worker *worker)
{
    struct db *db = worker->db;
    const struct settings_list *adopt = &worker->settings->adopt_queues;
    const size_t pairs = registry_pair_count(worker->registry);

    switch (worker->startup.step) {
    case STARTUP_CONNECT:
        if (worker->settings->check) {
            db_check_begin(db, on_check_begun, worker);
            return;
        }
        /* fall through */
    case STARTUP_SCHEMA:
        worker->startup.step = STARTUP_SCHEMA;
        db_schema_version(db, on_schema, worker);
        return;
    case STARTUP_TRACK:
        db_track_worker_function(db, worker->function, on_tracked, worker);
        return;
    case STARTUP_STATE:
        db_worker_fence(db, worker->function, worker->queue, worker->info, on_fence, worker);
        return;
    case STARTUP_DEPLOY:
        db_ensure_deployment(
            db, worker->modules[worker->startup.module].deployment->document,
            (struct db_texts){.items = (const char *const *)adopt->items, .count = adopt->count},
            on_deployment, worker);
        return;
    case STARTUP_COVERAGE:
        db_missing_coverage(db, worker->queue,
                            (struct db_pairs){.items = worker->pairs, .count = pairs}, on_missing,
                            worker);
        return;
    case STARTUP_WARM:
        warm_sessions(worker);
        warm_modules(worker);
        return;
    case STARTUP_REGISTER:
        registration_send(worker, false, on_registered);
        return;
    case STARTUP_OFFER:
        worker->startup.call_is_out = false;
        activation_offer_all(worker, begin_work);
        return;
    }
}

void startup_run(struct worker *worker)
{
    if (worker->life.state != WORKER_STARTING || worker->startup.call_is_out)
        return;
    (void)uv_timer_stop(&worker->startup.retry);
    worker->startup.call_is_out = true;
    send_step(worker);
}

void startup_run_again(struct worker *worker, const char *why)
{
    lifecycle_set(&worker->life, WORKER_STARTING, why);
    worker->startup.step = STARTUP_DEPLOY;
    worker->startup.module = 0;
    startup_run(worker);
}
