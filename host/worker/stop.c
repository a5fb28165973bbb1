/*
 * How a stop begins, whatever asks for it: from here on no claim goes out. drain.c takes it to its
 * end, stage by stage. And the wake-up of the pump, which every event of the loop ends with. Both
 * depend on nothing above them, so any file may ask.
 */
#include "worker/worker_private.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "log/log.h"

/* An idle handle keeps the loop from sleeping until the pump has run. */
void worker_wake(struct worker *worker)
{
    if (worker->life.state != WORKER_STOPPED)
        uv_idle_start(&worker->pump, worker->run_pump);
}

static void on_timer(uv_timer_t *timer)
{
    worker_wake(timer->data);
}

/* libuv counts from the time at which its turn began, in whole milliseconds. */
void worker_wake_at(struct worker *worker, uv_timer_t *timer, uint64_t at_ns)
{
    uv_update_time(&worker->loop);
    (void)uv_timer_start(timer, on_timer, clock_ms_until(at_ns, uv_hrtime()), 0);
}

void stop_recall_waiting(struct worker *worker)
{
    struct task *task;

    TAILQ_FOREACH (task, &worker->tasks.tasks, link)
        if (task->stage == STAGE_WAITING)
            (void)pool_recall(worker->pool, &task->pool);
}

/* A drain that is under way already takes the stronger purpose: leaving wins over standing by, the
 * first reason for a code over none. */
static void strengthen(struct drain *drain, enum drain_then then, int code)
{
    if (then == DRAIN_THEN_EXIT)
        drain->then = DRAIN_THEN_EXIT;
    if (drain->code == 0)
        drain->code = code;
}

void stop_begin(struct worker *worker, enum drain_then then, int code, const char *why)
{
    struct drain *drain = &worker->drain;

    if (worker->life.state == WORKER_STOPPED)
        return;
    if (worker->life.state == WORKER_DRAINING) {
        strengthen(drain, then, code);
        worker_wake(worker);
        return;
    }
    bool once = worker->settings->once && worker->life.state == WORKER_RUNNING && code == 0;
    *drain = (struct drain){.stage = DRAIN_FINISH,
                            .then = then,
                            .code = code,
                            .keep_waiting = once && then == DRAIN_THEN_EXIT};
    lifecycle_set(&worker->life, WORKER_DRAINING, why);
    log_info("stopping", why, LOG_QUEUE(worker->queue),
             LOG_WORKER(worker->identity.id[0] != '\0' ? worker->identity.id : NULL),
             LOG_FIELD_INT("tasks", task_count(&worker->tasks)));
    notify_systemd(then == DRAIN_THEN_EXIT ? "STOPPING=1\nSTATUS=finishing what runs"
                                           : "STATUS=finishing what runs, then standing by");
    if (!drain->keep_waiting)
        stop_recall_waiting(worker);
    worker_wake(worker);
}

void worker_fail(struct worker *worker, int code, const char *format, ...)
{
    if (worker->failure.code == ERROR_NONE) {
        char text[LIMIT_ERROR_TEXT];
        va_list values;

        va_start(values, format);
        (void)vsnprintf(text, sizeof text, format, values);
        va_end(values);
        (void)error_set(&worker->failure, code, "%s", text);
    }
    stop_begin(worker, DRAIN_THEN_EXIT, code, "failed; the reason is logged at the end");
}
