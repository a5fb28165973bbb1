/*
 * Calls that give tasks back: finished or unfinished.
 */
#include "db/calls_support.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The row's place among the items given, or SIZE_MAX. */
static size_t item_of_row(const struct call *call, const PGresult *result, int row, int column)
{
    int64_t item = result_int64(result, row, column, 0);
    return item >= 1 && (uint64_t)item <= call->expected ? (size_t)item - 1 : SIZE_MAX;
}

/* ---- finish_tasks ---- */

static const char *const finish_words[] = {
    [DB_FINISH_COMPLETED] = "completed", [DB_FINISH_RETRYING] = "retrying",
    [DB_FINISH_FAILED] = "failed",       [DB_FINISH_SKIPPED] = "skipped",
    [DB_FINISH_AGAIN] = "again",         [DB_FINISH_LATE] = "late",
    [DB_FINISH_GONE] = "gone",           [DB_FINISH_REFUSED] = "refused",
};

enum { FINISH_ITEM, FINISH_OUTCOME, FINISH_DETAIL, FINISH_NEW_WORK };

/* Each item must be answered once; as many rows as items and none twice. */
static bool read_finished(const struct call *call, const PGresult *result,
                          struct db_finish_answer *answers, bool *seen)
{
    if ((size_t)PQntuples(result) != call->expected)
        return false;
    for (int row = 0; row < PQntuples(result); row++) {
        size_t item = item_of_row(call, result, row, FINISH_ITEM);
        int word = result_word(result_text(result, row, FINISH_OUTCOME), finish_words,
                               COUNT(finish_words));
        if (item == SIZE_MAX || word < 0 || seen[item])
            return false;
        seen[item] = true;
        answers[item] = (struct db_finish_answer){(enum db_finish_outcome)word,
                                                  result_text(result, row, FINISH_DETAIL)};
    }
    return true;
}

static void answer_finish(struct call *call, const struct db_status *status, PGresult *result)
{
    db_finish_done done = (db_finish_done)call->done;
    if (result == NULL) {
        done(call->ctx, status, NULL);
        return;
    }
    struct db_finish_answer *answers = calloc(call->expected + 1, sizeof *answers);
    bool *seen = calloc(call->expected + 1, sizeof *seen);
    struct db_status failure =
        answers != NULL && seen != NULL ? result_mismatch(status) : result_no_memory(status);
    bool read = answers != NULL && seen != NULL && read_finished(call, result, answers, seen);
    struct db_finished finished = {.answers = answers, .count = call->expected};
    if (read && call->expected > 0)
        finished.new_work = result_bool(result, 0, FINISH_NEW_WORK);
    done(call->ctx, read ? status : &failure, read ? &finished : NULL);
    free(answers);
    free(seen);
}

static void put_results(struct params *params, const struct db_finish_item *items, size_t count)
{
    static const char *const words[] = {
        [DB_RESULT_COMPLETED] = "completed",
        [DB_RESULT_FAILED] = "failed",
        [DB_RESULT_PERMANENT] = "permanent",
    };
    struct param *results = params_array(params, PARAMS_TEXT_ARRAY, count, 0);
    for (size_t i = 0; i < count; i++)
        param_put_text(results, words[items[i].result], strlen(words[items[i].result]));
}

static void put_outputs(struct params *params, const struct db_finish_item *items, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += items[i].output_size;
    struct param *outputs = params_array(params, PARAMS_TEXT_ARRAY, count, bytes);
    for (size_t i = 0; i < count; i++)
        param_put_text(outputs, items[i].output, items[i].output_size);
}

static void put_errors(struct params *params, const struct db_finish_item *items, size_t count)
{
    struct param *errors = params_array(params, PARAMS_TEXT_ARRAY, count, 0);
    for (size_t i = 0; i < count; i++)
        param_put_text(errors, items[i].error, items[i].error != NULL ? strlen(items[i].error) : 0);
}

static void put_retry_afters(struct params *params, const struct db_finish_item *items,
                             size_t count)
{
    struct param *seconds = params_array(params, PARAMS_INT_ARRAY, count, 0);
    for (size_t i = 0; i < count; i++) {
        if (items[i].retry_after_s < 0)
            param_put_null(seconds);
        else
            param_put_int(seconds, items[i].retry_after_s);
    }
}

void db_finish_tasks(struct db *db, const char *worker_id, const struct db_finish_item *items,
                     size_t count, db_finish_done done, void *ctx)
{
    static const struct statement statement = {
        .name = "finish_tasks",
        .sql = "select item, outcome, detail, new_work from pgflow.finish_tasks($1::uuid,"
               " $2::text[]::uuid[], $3, $4, $5, $6, $7, $8, $9)"};
    struct call *call = call_create(&statement, CALL_WORK, answer_finish, (call_done)done, ctx);
    call->expected = count;
    params_text(&call->params, worker_id);
    calls_put_task_refs(&call->params, &items->task, sizeof *items, count);
    put_results(&call->params, items, count);
    put_outputs(&call->params, items, count);
    put_errors(&call->params, items, count);
    put_retry_afters(&call->params, items, count);
    db_submit(db, call);
}

/* ---- release_tasks ---- */

static void answer_release(struct call *call, const struct db_status *status, PGresult *result)
{
    static const char *const words[] = {
        [DB_RELEASED] = "released", [DB_RELEASE_LATE] = "late", [DB_RELEASE_GONE] = "gone"};
    db_release_done done = (db_release_done)call->done;
    if (result == NULL) {
        done(call->ctx, status, NULL);
        return;
    }
    enum db_release_outcome *outcomes = calloc(call->expected + 1, sizeof *outcomes);
    bool read = outcomes != NULL && (size_t)PQntuples(result) == call->expected;
    for (int row = 0; read && row < PQntuples(result); row++) {
        size_t item = item_of_row(call, result, row, 0);
        int word = result_word(result_text(result, row, 1), words, COUNT(words));
        read = item != SIZE_MAX && word >= 0;
        if (read)
            outcomes[item] = (enum db_release_outcome)word;
    }
    struct db_status failure =
        outcomes != NULL ? result_mismatch(status) : result_no_memory(status);
    struct db_released released = {.outcomes = outcomes, .count = call->expected};
    done(call->ctx, read ? status : &failure, read ? &released : NULL);
    free(outcomes);
}

void db_release_tasks(struct db *db, const char *worker_id, const struct db_release_item *items,
                      size_t count, int delay_s, db_release_done done, void *ctx)
{
    static const struct statement statement = {
        .name = "release_tasks",
        .sql = "select item, outcome from pgflow.release_tasks($1::uuid, $2::text[]::uuid[], $3,"
               " $4, $5, $6, $7)"};
    struct call *call = call_create(&statement, CALL_WORK, answer_release, (call_done)done, ctx);
    call->expected = count;
    params_text(&call->params, worker_id);
    calls_put_task_refs(&call->params, &items->task, sizeof *items, count);
    struct param *started = params_array(&call->params, PARAMS_BOOL_ARRAY, count, 0);
    for (size_t i = 0; i < count; i++)
        param_put_bool(started, items[i].started);
    params_int(&call->params, delay_s);
    db_submit(db, call);
}

void db_release_tasks_except(struct db *db, const char *worker_id,
                             const struct db_task_ref *in_flight, size_t count, db_count_done done,
                             void *ctx)
{
    static const struct statement statement = {
        .sql = "select pgflow.release_tasks_except($1::uuid, $2::text[]::uuid[], $3, $4, $5)"};
    struct call *call =
        call_create(&statement, CALL_WORK, calls_answer_count, (call_done)done, ctx);
    params_text(&call->params, worker_id);
    calls_put_task_refs(&call->params, in_flight, sizeof *in_flight, count);
    db_submit(db, call);
}
