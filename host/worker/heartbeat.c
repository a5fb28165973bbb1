/*
 * The heartbeat of this process's row, every 5 s from the first registration until the last result
 * is reported. What its answer asks for is for life.c.
 */
#include "worker/worker_private.h"

#include <stdlib.h>
#include <string.h>

#include "log/log.h"
#include "worker/telemetry.h"

enum { HEARTBEAT_MS = 5000 };

#define SILENCE_NS (30 * NS_PER_S)

/* A host that may claim and gets no answer for so long is stuck, and must stop counting as live.
 * Time that the poll interval leaves the queue alone does not count; busy slots are no sign of
 * being stuck, nor are modules that are all suspended: that host claims nothing on purpose. */
bool heartbeat_is_due(const struct worker *worker, uint64_t now_ns)
{
    const struct claim_loop *claims = &worker->claims;
    bool slot_is_free =
        task_count_in_pool(&worker->tasks) < (uint32_t)worker->settings->concurrency;
    bool all_suspended = worker->suspended_count == registry_pair_count(worker->registry);
    uint64_t wanted_ns = claims->in_flight || claims->due ? 0 : claims->next_poll_ns;

    if (worker->life.state != WORKER_RUNNING || !slot_is_free || all_suspended)
        return true;
    if (wanted_ns < claims->answered_ns)
        wanted_ns = claims->answered_ns;
    return now_ns < wanted_ns + SILENCE_NS;
}

static void cancel_ended_runs(struct worker *worker, const struct db_texts *runs)
{
    struct task *task;

    for (size_t i = 0; i < runs->count; i++)
        TAILQ_FOREACH (task, &worker->tasks.tasks, link) {
            if (task->run_ended || strcmp(task->row->run_id, runs->items[i]) != 0)
                continue;
            task->run_ended = true;
            if (task->stage == STAGE_WAITING || task->stage == STAGE_RUNNING)
                pool_cancel(worker->pool, &task->pool, POOL_RUN_ENDED);
        }
}

static void on_heartbeat(void *ctx, const struct db_status *status,
                         const struct db_heartbeat *answer)
{
    struct worker *worker = ctx;

    bool again = worker->heartbeat.again;

    worker->heartbeat.in_flight = false;
    worker->heartbeat.again = false;
    telemetry_call(worker, METRICS_CALL_HEARTBEAT, status);
    if (worker->heartbeat.version != worker->identity.version)
        return;
    if (!answer_is_there(worker, status, "heartbeat"))
        return;
    worker->heartbeat.answered_ns = uv_hrtime();
    cancel_ended_runs(worker, &answer->ended_runs);
    worker->heartbeat.news.is_deprecated = answer->is_deprecated;
    worker->heartbeat.news.must_stop = answer->must_stop && !worker->identity.standby;
    worker->heartbeat.news.version = worker->identity.version;
    worker->heartbeat.news.answered = true;
    if (again)
        heartbeat_now(worker);
    worker_wake(worker);
}

static bool may_send(const struct worker *worker)
{
    return worker->identity.id[0] != '\0' && worker->life.state != WORKER_STOPPED;
}

/* The runs of all tasks whose result is not acknowledged; repetitions do no harm. */
static size_t runs_in_flight(const struct worker *worker, const char **runs)
{
    const struct task *task;
    size_t count = 0;

    TAILQ_FOREACH (task, &worker->tasks.tasks, link)
        if (count == 0 || strcmp(runs[count - 1], task->row->run_id) != 0)
            runs[count++] = task->row->run_id;
    return count;
}

static void send_heartbeat(struct worker *worker)
{
    const char **runs = calloc(task_count(&worker->tasks) + 1, sizeof *runs);

    if (runs == NULL)
        return; /* the next one may find memory */
    worker->heartbeat.in_flight = true;
    worker->heartbeat.version = worker->identity.version;
    db_heartbeat(worker->db, worker->identity.id,
                 (struct db_texts){.items = runs, .count = runs_in_flight(worker, runs)},
                 (struct db_pairs){.items = worker->suspended,
                                   .count = worker->identity.standby ? 0 : worker->suspended_count},
                 on_heartbeat, worker);
    free(runs);
}

static void log_silence(struct worker *worker, bool silent)
{
    if (silent && !worker->heartbeat.silent)
        log_error(
            "heartbeat_silent",
            "no claim was answered for 30 s though a slot is free; this worker stops counting "
            "as live until one is",
            LOG_QUEUE(worker->queue), LOG_WORKER(worker->identity.id));
    worker->heartbeat.silent = silent;
}

static void tick(uv_timer_t *timer)
{
    struct worker *worker = timer->data;

    modules_log_changed(worker);
    telemetry_sample(worker);
    worker->heartbeat.news.ticked = true;
    worker_wake(worker);
    if (!may_send(worker) || worker->heartbeat.in_flight)
        return;
    bool due = heartbeat_is_due(worker, uv_hrtime());
    log_silence(worker, !due);
    if (due)
        send_heartbeat(worker);
}

void heartbeat_now(struct worker *worker)
{
    /* The one in flight may have been answered before what this is about. */
    worker->heartbeat.again = worker->heartbeat.in_flight;
    if (may_send(worker) && !worker->heartbeat.in_flight && heartbeat_is_due(worker, uv_hrtime()))
        send_heartbeat(worker);
}

struct heartbeat_news heartbeat_take_news(struct worker *worker)
{
    struct heartbeat_news news = worker->heartbeat.news;

    worker->heartbeat.news = (struct heartbeat_news){.answered = false};
    /* Of a row that was replaced between the answer and the pump it tells nothing any more. */
    news.answered = news.answered && news.version == worker->identity.version;
    return news;
}

void heartbeat_start(struct worker *worker)
{
    if (!uv_is_active((uv_handle_t *)&worker->heartbeat.timer))
        (void)uv_timer_start(&worker->heartbeat.timer, tick, HEARTBEAT_MS, HEARTBEAT_MS);
}
