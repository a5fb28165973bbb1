/*
 * From the end of a handler to the acknowledgement of the database. Results are sent in batches,
 * one flush in flight, releases in a call of their own beside it. What a lost connection leaves
 * unanswered is sent again (recorded before: the answer is `again`); a batch that the database
 * refuses as a whole goes item by item.
 */
#include "worker/worker_private.h"

#include <string.h>

#include "observe/log.h"
#include "worker/result_log.h"
#include "worker/telemetry.h"

enum { FIRST_PAUSE_MS = 50, LONGEST_PAUSE_MS = 5000 };

#define BUFFER_LIMIT ((size_t)LIMIT_RESULTS_BUFFERED_MIB * LIMIT_MIB)

static enum task_verdict verdict_of(const struct pool_result *result)
{
    switch (result->outcome) {
    case POOL_COMPLETED:
        return VERDICT_COMPLETED;
    case POOL_PERMANENT:
        return VERDICT_PERMANENT;
    case POOL_CANCELLED:
    case POOL_RETURNED:
        return VERDICT_RELEASE;
    case POOL_FAILED:
        break;
    }
    return VERDICT_FAILED;
}

/* Memory stays bounded while the database is away: the task runs again elsewhere, uncounted. */
static bool has_no_room(const struct worker *worker, const struct task *task, size_t size)
{
    if (worker->up || worker->tasks.result_bytes + size <= BUFFER_LIMIT)
        return false;
    log_warn("result_dropped",
             "results waiting for the database are over their limit; this task is given back",
             LOG_QUEUE(worker->queue), LOG_FLOW(task->row->flow), LOG_STEP(task->row->step),
             LOG_RUN(task->row->run_id), LOG_TASK(task->row->task_index));
    return true;
}

static void keep(struct worker *worker, struct task *task, const struct pool_result *result)
{
    enum task_verdict verdict = verdict_of(result);
    const char *text = verdict == VERDICT_COMPLETED ? result->output : result->error;
    size_t size = verdict == VERDICT_COMPLETED ? result->output_size : result->error_size;

    if (verdict == VERDICT_RELEASE || has_no_room(worker, task, size))
        task_decide(&worker->tasks, task, VERDICT_RELEASE, NULL, 0);
    else
        task_decide(&worker->tasks, task, verdict, text, size);
    task->retry_after_s = verdict == VERDICT_FAILED ? result->retry_after_s : -1;
}

void results_take(struct worker *worker, struct task *task, const struct pool_result *result)
{
    bool given_up = result->outcome == POOL_CANCELLED || result->outcome == POOL_RETURNED;

    task->started = result->started;
    if (result->outcome == POOL_COMPLETED || result->outcome == POOL_FAILED)
        prefetch_note_handler(&worker->claims.prefetch, result->ms,
                              task->row->input_size + task->row->flow_input_size);
    result_log_handler(worker, task, result);
    telemetry_task_ran(worker, task, result);
    if (given_up && task->run_ended) {
        telemetry_task_ended(worker, task, METRICS_DROPPED);
        task_remove(&worker->tasks, task); /* its run is over: there is nothing to tell */
    } else {
        keep(worker, task, result);
    }
    worker_wake(worker);
}

static void try_later(struct worker *worker)
{
    struct results *results = &worker->results;
    uint64_t pause_ms = FIRST_PAUSE_MS;

    for (uint32_t i = 0; i < results->failures && pause_ms < LONGEST_PAUSE_MS; i++)
        pause_ms *= 2;
    results->failures++;
    results->not_before_ns = uv_hrtime() + pause_ms * NS_PER_MS;
}

static void take_back(struct worker *worker, struct flight *flight)
{
    for (size_t i = 0; i < flight->count; i++)
        task_set_stage(&worker->tasks, flight->tasks[i], TASK_DONE);
    flight->count = 0;
}

/* The database will never take this result as it is. Once its reason is reported instead; a report
 * that is refused as well is given up, and recovery decides about the task. */
static void replace_refused(struct worker *worker, struct task *task,
                            const struct db_status *status)
{
    if (task->verdict == VERDICT_COMPLETED && status->text[0] != '\0') {
        task_decide(&worker->tasks, task, VERDICT_FAILED, status->text, strlen(status->text));
        return;
    }
    result_log_abandoned(worker, task, status);
    telemetry_task_ended(worker, task, METRICS_REFUSED);
    task_remove(&worker->tasks, task);
}

/* True when the connection was lost: all goes out again with the next one, which wakes the pump. */
static bool is_lost(const struct db_status *status)
{
    return status->outcome == DB_LOST || (status->outcome == DB_UNSENT && !status->permanent);
}

static void on_refused_results(struct worker *worker, const struct db_status *status)
{
    struct flight *flight = &worker->results.finish;
    size_t count = flight->count;
    struct task *first = flight->tasks[0];

    take_back(worker, flight);
    if (is_lost(status))
        return;
    log_warn("call_failed",
             count > 1 ? "a batch of results was refused as a whole; they are sent one by one"
                       : "a result was refused",
             LOG_QUEUE(worker->queue), LOG_FIELD_TEXT("sqlstate", status->sqlstate),
             LOG_ERROR(status->text));
    if (count > 1)
        worker->results.singly = count;
    else if (status->permanent)
        replace_refused(worker, first, status);
    if (!status->permanent)
        try_later(worker);
}

static void on_refused_releases(struct worker *worker, const struct db_status *status)
{
    struct flight *flight = &worker->results.release;
    size_t count = flight->count;

    take_back(worker, flight);
    if (is_lost(status))
        return;
    log_warn("call_failed", "a release was refused", LOG_QUEUE(worker->queue),
             LOG_FIELD_TEXT("sqlstate", status->sqlstate), LOG_ERROR(status->text));
    if (!status->permanent) {
        try_later(worker);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        result_log_abandoned(worker, flight->tasks[i], status);
        telemetry_task_ended(worker, flight->tasks[i], METRICS_REFUSED);
        task_remove(&worker->tasks, flight->tasks[i]);
    }
}

static void on_finished(void *ctx, const struct db_status *status,
                        const struct db_finished *finished)
{
    struct worker *worker = ctx;
    struct results *results = &worker->results;
    struct flight *flight = &results->finish;

    worker_wake(worker);
    telemetry_call(worker, METRICS_CALL_FINISH, status);
    if (status->outcome != DB_OK) {
        on_refused_results(worker, status);
        return;
    }
    results->failures = 0;
    for (size_t i = 0; i < flight->count; i++) {
        result_log_outcome(worker, flight->tasks[i], &finished->answers[i]);
        telemetry_task_finished(worker, flight->tasks[i], finished->answers[i].outcome);
        task_remove(&worker->tasks, flight->tasks[i]);
    }
    results->singly -= results->singly < flight->count ? results->singly : flight->count;
    flight->count = 0;
    /* A claim that was sent behind this flush has seen its work already. */
    if (finished->new_work && worker->claims.sent_number < results->sent_number)
        claim_loop_expect_work(worker);
}

static void on_released(void *ctx, const struct db_status *status,
                        const struct db_released *released)
{
    struct worker *worker = ctx;
    struct flight *flight = &worker->results.release;

    worker_wake(worker);
    telemetry_call(worker, METRICS_CALL_RELEASE, status);
    if (status->outcome != DB_OK) {
        on_refused_releases(worker, status);
        return;
    }
    for (size_t i = 0; i < flight->count; i++) {
        result_log_release(worker, flight->tasks[i], released->outcomes[i]);
        telemetry_task_released(worker, flight->tasks[i], released->outcomes[i]);
        task_remove(&worker->tasks, flight->tasks[i]);
    }
    flight->count = 0;
}

/* Moves done tasks of one kind into the flight: as many as one call may carry. */
static void board(struct worker *worker, struct flight *flight, bool releases, size_t most)
{
    size_t bytes = 0;

    for (struct task *task = worker->tasks.first; task != NULL && flight->count < most;
         task = task->next) {
        if (task->stage != TASK_DONE || (task->verdict == VERDICT_RELEASE) != releases)
            continue;
        bytes += task->text_size;
        if (flight->count > 0 && bytes > LIMIT_DB_FINISH_BYTES)
            break;
        task_set_stage(&worker->tasks, task, TASK_SENT);
        flight->tasks[flight->count++] = task;
    }
}

static struct db_task_ref ref_of(const struct task *task)
{
    return (struct db_task_ref){.run_id = task->row->run_id,
                                .step = task->row->step,
                                .task_index = task->row->task_index,
                                .claim_no = task->row->claim_no};
}

static void fill_item(struct db_finish_item *item, const struct task *task)
{
    static const enum db_result results[] = {[VERDICT_COMPLETED] = DB_RESULT_COMPLETED,
                                             [VERDICT_FAILED] = DB_RESULT_FAILED,
                                             [VERDICT_PERMANENT] = DB_RESULT_PERMANENT};
    bool completed = task->verdict == VERDICT_COMPLETED;

    *item = (struct db_finish_item){.task = ref_of(task),
                                    .result = results[task->verdict],
                                    .retry_after_s = task->retry_after_s};
    if (completed) {
        item->output = task->text;
        item->output_size = task->text_size;
    } else {
        item->error = task->text != NULL ? task->text : "the host had no memory for the result";
    }
}

static void send_results(struct worker *worker)
{
    struct results *results = &worker->results;
    struct db_finish_item items[LIMIT_BATCH];

    board(worker, &results->finish, false, results->singly > 0 ? 1 : LIMIT_BATCH);
    if (results->finish.count == 0)
        return;
    for (size_t i = 0; i < results->finish.count; i++)
        fill_item(&items[i], results->finish.tasks[i]);
    results->sent_number = ++worker->calls_sent;
    db_finish_tasks(worker->db, worker->identity.id, items, results->finish.count, on_finished,
                    worker);
}

static void send_releases(struct worker *worker)
{
    struct flight *flight = &worker->results.release;
    struct db_release_item items[LIMIT_BATCH];

    board(worker, flight, true, LIMIT_BATCH);
    if (flight->count == 0)
        return;
    for (size_t i = 0; i < flight->count; i++)
        items[i] = (struct db_release_item){.task = ref_of(flight->tasks[i]),
                                            .started = flight->tasks[i]->started};
    db_release_tasks(worker->db, worker->identity.id, items, flight->count, 0, on_released, worker);
}

static void on_timer(uv_timer_t *timer)
{
    worker_wake(timer->data);
}

void results_flush(struct worker *worker)
{
    struct results *results = &worker->results;
    uint64_t now_ns = uv_hrtime();

    if (!worker->up || worker->tasks.count[TASK_DONE] == 0)
        return;
    if (now_ns < results->not_before_ns) {
        uv_timer_start(&results->timer, on_timer, (results->not_before_ns - now_ns) / NS_PER_MS + 1,
                       0);
        return;
    }
    if (results->finish.count == 0)
        send_results(worker);
    if (results->release.count == 0)
        send_releases(worker);
}
