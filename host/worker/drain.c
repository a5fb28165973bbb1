/*
 * The end of work, in stages, whatever began it:
 *
 *     finish    no claim goes out any more; what waits is released, what runs may finish
 *     cancel    a signal's grace is over: handlers are asked to stop, killed two seconds later
 *     report    the last results and releases, heartbeats go on
 *     deregister  the row is stopped (or the host stands by)
 *     close     runners, then the database connection last
 *
 * Deprecation and a disabled function wait for handlers and for the database as long as it takes; a
 * signal bounds every stage, so that a stop ends in time while the database is away or a handler is
 * stuck. A failed host waits --drain-timeout at most for results that the database refuses.
 */
#include "worker/worker_private.h"

#include <stdio.h>
#include <string.h>

#include "log/log.h"

/* For the report after the handlers' end, for deregistering, and for all of it after a second
 * signal. */
#define REPORT_NS (5 * NS_PER_S)
#define DEREGISTER_NS (2 * NS_PER_S)
#define HURRY_NS (2 * NS_PER_S)

static void set_deadline(struct worker *worker, uint64_t deadline_ns)
{
    worker->drain.deadline_ns = deadline_ns;
    worker_wake_at(worker, &worker->drain_timer, deadline_ns);
}

static bool is_overdue(const struct drain *drain)
{
    return drain->deadline_ns != 0 && uv_hrtime() >= drain->deadline_ns;
}

static void hurry(struct worker *worker)
{
    log_warn("stop_now", "second signal: handlers are killed", LOG_QUEUE(worker->queue));
    worker->drain.hurried = true;
    if (worker->pool != NULL)
        pool_kill_all(worker->pool);
    set_deadline(worker, uv_hrtime() + HURRY_NS);
}

void drain_on_signal(struct worker *worker, int number)
{
    struct drain *drain = &worker->drain;
    uint64_t grace_ns = (uint64_t)worker->settings->drain_timeout * NS_PER_S;
    char why[64];

    if (worker->life.state == WORKER_STOPPED)
        return;
    snprintf(why, sizeof why, "SIG%s", sigabbrev_np(number));
    if (worker->settings->check && worker->life.state != WORKER_DRAINING)
        worker_fail(worker, ERROR_UNAVAILABLE, "%s came before the check had an answer", why);
    if (worker->pool != NULL)
        pool_note_stop(worker->pool);
    stop_begin(worker, DRAIN_THEN_EXIT, ERROR_NONE, why);
    if (drain->hurried)
        return;
    if (drain->bounded) {
        hurry(worker);
        worker_wake(worker);
        return;
    }
    drain->bounded = true;
    drain->keep_waiting = false;
    stop_recall_waiting(worker);
    set_deadline(worker, uv_hrtime() + grace_ns);
}

static void enter(struct worker *worker, enum drain_stage stage)
{
    worker->drain.stage = stage;
    worker_wake(worker);
}

/* The last results get at least REPORT_NS, also when the handlers took all of the grace. */
static void enter_report(struct worker *worker)
{
    struct drain *drain = &worker->drain;
    uint64_t least_ns = uv_hrtime() + REPORT_NS;

    if (drain->bounded && !drain->hurried && drain->deadline_ns < least_ns)
        set_deadline(worker, least_ns);
    enter(worker, DRAIN_REPORT);
}

static void cancel_handlers(struct worker *worker)
{
    struct task *task;

    log_warn("drain_timeout", "handlers did not finish within --drain-timeout; they are cancelled",
             LOG_QUEUE(worker->queue),
             LOG_FIELD_INT("handlers", task_count_in_pool(&worker->tasks)));
    TAILQ_FOREACH (task, &worker->tasks.tasks, link)
        if (task->stage == STAGE_WAITING || task->stage == STAGE_RUNNING)
            pool_cancel(worker->pool, &task->pool, POOL_SHUTDOWN);
    worker->drain.deadline_ns = 0; /* the pool kills them by itself */
    enter(worker, DRAIN_CANCEL);
}

static bool is_reported(const struct worker *worker)
{
    return task_count(&worker->tasks) == 0 && !worker->claims.in_flight &&
           (worker->reclaim.state == RECLAIM_NONE || !worker->up);
}

static void on_deregistered(void *ctx, const struct db_status *status)
{
    struct worker *worker = ctx;

    if (status->outcome != DB_OK)
        log_warn("call_failed", "this worker's row could not be deregistered",
                 LOG_QUEUE(worker->queue), LOG_ERROR(status->text));
    worker->drain.deregistrations_out--;
    worker_wake(worker);
}

static void deregister(struct worker *worker, const char *id)
{
    if (id[0] == '\0')
        return;
    worker->drain.deregistrations_out++;
    db_mark_worker_stopped(worker->db, id, on_deregistered, worker);
}

static void enter_deregister(struct worker *worker)
{
    struct drain *drain = &worker->drain;

    if (drain->then == DRAIN_THEN_STANDBY && standby_enter(worker, "the work is finished"))
        return;
    if (!drain->hurried)
        set_deadline(worker, uv_hrtime() + DEREGISTER_NS);
    if (worker->db != NULL && worker->up) {
        deregister(worker, worker->identity.id);
        deregister(worker, worker->identity.pending);
    }
    enter(worker, DRAIN_DEREGISTER);
}

static void report_leftovers(const struct worker *worker)
{
    uint32_t left = task_count(&worker->tasks);

    if (left > 0)
        log_warn("left_unreported",
                 "the stop could not wait for the database; recovery returns these tasks",
                 LOG_QUEUE(worker->queue), LOG_FIELD_INT("count", left));
}

/* What made the host fail may be what keeps the database from taking its results. */
static void bound_failure(struct worker *worker)
{
    struct drain *drain = &worker->drain;
    uint64_t grace_ns = (uint64_t)worker->settings->drain_timeout * NS_PER_S;

    if (drain->code != ERROR_NONE && drain->deadline_ns == 0 && worker->tasks.isolated > 0)
        set_deadline(worker, uv_hrtime() + grace_ns);
}

void drain_run(struct worker *worker)
{
    struct drain *drain = &worker->drain;

    if (worker->life.state != WORKER_DRAINING)
        return;
    if (drain->deadline_ns != 0 && !is_overdue(drain))
        set_deadline(worker, drain->deadline_ns); /* the timer may have rung before its time */
    switch (drain->stage) {
    case DRAIN_FINISH:
        if (task_count_in_pool(&worker->tasks) > 0 && !drain->hurried && is_overdue(drain)) {
            cancel_handlers(worker);
            return;
        }
        /* fall through */
    case DRAIN_CANCEL:
        if (task_count_in_pool(&worker->tasks) == 0 || (drain->hurried && is_overdue(drain)))
            enter_report(worker);
        return;
    case DRAIN_REPORT:
        bound_failure(worker);
        if (is_reported(worker) || is_overdue(drain)) {
            report_leftovers(worker);
            enter_deregister(worker);
        }
        return;
    case DRAIN_DEREGISTER:
        if (drain->deregistrations_out == 0 || is_overdue(drain)) {
            drain->stage = DRAIN_CLOSE;
            worker_close(worker);
        }
        return;
    case DRAIN_CLOSE:
        return;
    }
}
