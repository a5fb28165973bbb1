/*
 * From the end of a handler to the acknowledgement of the database. Results are sent in batches,
 * one flush in flight, releases in a call of their own beside it. What a lost connection leaves
 * unanswered is sent again (recorded before: the answer is `again`); what the database refuses goes
 * item by item, or isolated from the others (result_batch.c).
 */
#include "worker/worker_private.h"

#include <string.h>

#include "log/log.h"
#include "worker/result_log.h"
#include "worker/telemetry.h"

enum { LOGGED_REFUSALS = 16 };

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

/* Memory stays bounded while the database is away, or refuses results: the task runs again
 * elsewhere, uncounted. */
static bool has_no_room(const struct worker *worker, const struct task *task, size_t size)
{
    bool are_taken = worker->up && worker->tasks.isolated == 0;

    if (are_taken || worker->tasks.result_bytes + size <= BUFFER_LIMIT)
        return false;
    log_warn("result_dropped",
             "results waiting for the database are over their limit; this task is released",
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

static void abandon(struct worker *worker, struct task *task, const struct db_status *status)
{
    result_log_abandoned(worker, task, status);
    telemetry_task_ended(worker, task, METRICS_REFUSED);
    task_remove(&worker->tasks, task);
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
    abandon(worker, task, status);
}

/* True when the connection was lost: all goes out again with the next one, which wakes the pump. */
static bool is_lost(const struct db_status *status)
{
    return status->outcome == DB_LOST || (status->outcome == DB_UNSENT && !status->permanent);
}

/* Refused for what it is, and so for ever. A right, a function or a schema that is not there may be
 * there again; of the limits of PostgreSQL (54) those that an output can cross are answered by
 * item, and what is left is a full queue of notifications. */
static bool is_fault_of_the_item(const struct db_status *status)
{
    static const char *const of_the_database[] = {"28", "3D", "3F", "42", "54"};

    for (size_t i = 0; i < sizeof of_the_database / sizeof of_the_database[0]; i++)
        if (strncmp(status->sqlstate, of_the_database[i], 2) == 0)
            return false;
    return status->permanent;
}

/* Each call of many is logged, of one task the first and then some: it may be refused for hours. */
static void log_refusal(const struct worker *worker, const struct result_batch *batch,
                        const struct db_status *status, const char *what)
{
    if (batch->count == 1 && batch->tasks[0]->refusals % LOGGED_REFUSALS != 0)
        return;
    log_warn("call_failed", what, LOG_QUEUE(worker->queue), LOG_FIELD_INT("count", batch->count),
             LOG_RUN(batch->count == 1 ? batch->tasks[0]->row->run_id : NULL),
             LOG_FIELD_TEXT("sqlstate", status->sqlstate), LOG_ERROR(status->text));
}

/* What to do with an item that is refused alone and for ever. */
typedef void (*give_up_fn)(struct worker *worker, struct task *task,
                           const struct db_status *status);

/* The call recorded nothing: what it carried waits again, each item in the way that fits the
 * reason. */
static void on_refused(struct worker *worker, struct result_batch *batch,
                       const struct db_status *status, const char *what, give_up_fn give_up)
{
    result_batch_requeue(worker, batch);
    if (!is_lost(status)) {
        log_refusal(worker, batch, status, what);
        if (!is_fault_of_the_item(status) && (batch->is_isolated || batch->count == 1))
            result_batch_isolate(worker, batch);
        else if (!result_batch_split(worker, batch))
            give_up(worker, batch->tasks[0], status);
    }
    result_batch_end(batch);
}

static const char *refused_results(const struct result_batch *batch)
{
    if (batch->count == 1)
        return "a result was refused";
    return batch->is_isolated
               ? "results of a run were refused again"
               : "a batch of results was refused as a whole; they are sent one by one";
}

static const char *refused_releases(const struct result_batch *batch)
{
    return batch->count == 1 ? "a release was refused" : "releases were refused as a whole";
}

static void on_finished(void *ctx, const struct db_status *status,
                        const struct db_finished *finished)
{
    struct worker *worker = ctx;
    struct results *results = &worker->results;
    struct result_batch *batch = &results->finish;

    worker_wake(worker);
    telemetry_call(worker, METRICS_CALL_FINISH, status);
    if (status->outcome != DB_OK) {
        on_refused(worker, batch, status, refused_results(batch), replace_refused);
        return;
    }
    for (size_t i = 0; i < batch->count; i++) {
        result_log_outcome(worker, batch->tasks[i], &finished->answers[i]);
        telemetry_task_finished(worker, batch->tasks[i], finished->answers[i].outcome);
        task_remove(&worker->tasks, batch->tasks[i]);
    }
    result_batch_end(batch);
    /* A claim that was sent behind this flush has seen its work already. */
    if (finished->new_work && worker->claims.sent_number < results->sent_number)
        claim_loop_expect_work(worker);
}

static void on_released(void *ctx, const struct db_status *status,
                        const struct db_released *released)
{
    struct worker *worker = ctx;
    struct result_batch *batch = &worker->results.release;

    worker_wake(worker);
    telemetry_call(worker, METRICS_CALL_RELEASE, status);
    if (status->outcome != DB_OK) {
        on_refused(worker, batch, status, refused_releases(batch), abandon);
        return;
    }
    for (size_t i = 0; i < batch->count; i++) {
        result_log_release(worker, batch->tasks[i], released->outcomes[i]);
        telemetry_task_released(worker, batch->tasks[i], released->outcomes[i]);
        task_remove(&worker->tasks, batch->tasks[i]);
    }
    result_batch_end(batch);
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

    if (!result_batch_fill(worker, &results->finish, false))
        return;
    for (size_t i = 0; i < results->finish.count; i++)
        fill_item(&items[i], results->finish.tasks[i]);
    results->sent_number = ++worker->calls_sent;
    db_finish_tasks(worker->db, worker->identity.id, items, results->finish.count, on_finished,
                    worker);
}

static void send_releases(struct worker *worker)
{
    struct result_batch *batch = &worker->results.release;
    struct db_release_item items[LIMIT_BATCH];

    if (!result_batch_fill(worker, batch, true))
        return;
    for (size_t i = 0; i < batch->count; i++)
        items[i] = (struct db_release_item){.task = ref_of(batch->tasks[i]),
                                            .started = batch->tasks[i]->started};
    db_release_tasks(worker->db, worker->identity.id, items, batch->count, 0, on_released, worker);
}

void results_flush(struct worker *worker)
{
    if (!worker->up || worker->tasks.count[STAGE_DONE] == 0)
        return;
    send_results(worker);
    send_releases(worker);
    uint64_t next_ns = worker->tasks.isolated > 0 ? result_batch_next_ns(worker) : 0;
    if (next_ns != 0)
        worker_wake_at(worker, &worker->results.timer, next_ns);
}
