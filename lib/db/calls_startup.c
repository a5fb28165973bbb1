/*
 * Calls of the startup: schema version, function row, deployments, coverage.
 */
#include "db/calls_support.h"

#include <stdlib.h>
#include <string.h>

/* ---- schema_version ---- */

/* A database without the schema, and a schema that this project did not make,
 * have no such function. */
static bool says_not_installed(const struct db_status *status)
{
    return status->outcome == DB_ERROR &&
           (strcmp(status->sqlstate, "3F000") == 0 || strcmp(status->sqlstate, "42883") == 0 ||
            strcmp(status->sqlstate, "42P01") == 0);
}

static void answer_schema_version(struct call *call, const struct db_status *status,
                                  PGresult *result)
{
    db_schema_version_done done = (db_schema_version_done)call->done;
    struct db_schema_version version = {.is_installed = false};
    struct db_status ok = {.outcome = DB_OK, .text = "", .elapsed_ns = status->elapsed_ns};
    if (result == NULL && !says_not_installed(status)) {
        done(call->ctx, status, NULL);
        return;
    }
    if (result != NULL && PQntuples(result) == 1 && PQnfields(result) >= 2) {
        version.version = result_int(result, 0, 0, 0);
        version.oldest_host = result_int(result, 0, 1, 0);
        version.is_installed = version.version > 0;
    }
    done(call->ctx, &ok, &version);
}

void db_schema_version(struct db *db, db_schema_version_done done, void *ctx)
{
    static const struct statement statement = {
        .sql = "select version, oldest_host from pgflow.schema_version()"};
    db_submit(db,
              call_create(&statement, CALL_CONTROL, answer_schema_version, (call_done)done, ctx));
}

/* ---- The function row ---- */

void db_track_worker_function(struct db *db, const char *function, db_done done, void *ctx)
{
    static const struct statement statement = {
        .sql = "select pgflow.track_worker_function($1, 'process')"};
    struct call *call =
        call_create(&statement, CALL_CONTROL, calls_answer_done, (call_done)done, ctx);
    params_text(&call->params, function);
    db_submit(db, call);
}

static const char *const fence_words[] = {
    [DB_FENCE_NONE] = "",
    [DB_FENCE_DISABLED] = "disabled",
    [DB_FENCE_PAUSED] = "paused",
    [DB_FENCE_WRONG_MODULES] = "wrong_modules",
    [DB_FENCE_NOT_IN_MANIFEST] = "not_in_manifest",
};

const char *db_fence_reason_name(enum db_fence_reason reason)
{
    return fence_words[reason];
}

static void answer_fence(struct call *call, const struct db_status *status, PGresult *result)
{
    db_fence_done done = (db_fence_done)call->done;
    struct db_status mismatch = result_mismatch(status);
    if (result == NULL) {
        done(call->ctx, status, NULL);
        return;
    }
    int word = PQntuples(result) == 1 ? result_word(result_text(result, 0, 0), fence_words,
                                                    sizeof fence_words / sizeof fence_words[0])
                                      : -1;
    if (word < 0) {
        done(call->ctx, &mismatch, NULL);
        return;
    }
    done(call->ctx, status,
         &(struct db_fence){.reason = (enum db_fence_reason)word,
                            .detail = result_text(result, 0, 1),
                            .stands_by_for = result_text(result, 0, 2),
                            .paused_at = result_text(result, 0, 3),
                            .pause_reason = result_text(result, 0, 4)});
}

void db_worker_fence(struct db *db, const char *function, const char *queue, const char *info,
                     db_fence_done done, void *ctx)
{
    static const struct statement statement = {
        .name = "worker_fence",
        .sql = "select coalesce(reason, ''), detail, stands_by_for, paused_at, pause_reason"
               " from pgflow.worker_fence($1, $2, $3::jsonb)"};
    struct call *call = call_create(&statement, CALL_CONTROL, answer_fence, (call_done)done, ctx);
    params_text(&call->params, function);
    params_text(&call->params, queue);
    params_text(&call->params, info);
    db_submit(db, call);
}

/* ---- ensure_deployment ---- */

static void answer_deployment(struct call *call, const struct db_status *status, PGresult *result)
{
    db_deployment_done done = (db_deployment_done)call->done;
    struct db_deployment deployment = {.hint = NULL};
    struct db_status mismatch = result_mismatch(status);
    if (result == NULL) {
        done(call->ctx, status, NULL);
        return;
    }
    deployment.compilation = result_text(result, 0, 0);
    deployment.activation = result_text(result, 0, 1);
    deployment.alias = result_text(result, 0, 2);
    deployment.active_flow = result_text(result, 0, 3);
    deployment.queue_mode = result_text(result, 0, 4);
    deployment.hint = result_text(result, 0, 5);
    if (deployment.compilation != NULL && deployment.activation != NULL &&
        deployment.alias != NULL && deployment.queue_mode != NULL &&
        result_texts(result, 0, 6, &deployment.differences) &&
        result_texts(result, 0, 7, &deployment.option_drift))
        done(call->ctx, status, &deployment);
    else
        done(call->ctx, &mismatch, NULL);
    result_texts_free(&deployment.differences);
    result_texts_free(&deployment.option_drift);
}

void db_ensure_deployment(struct db *db, const char *deployment, struct db_texts adopt,
                          db_deployment_done done, void *ctx)
{
    static const struct statement statement = {
        .sql = "select r ->> 'compilation', r ->> 'activation', r ->> 'alias',"
               " r ->> 'activeFlowSlug', r ->> 'queueMode', r ->> 'hint',"
               " array(select pg_catalog.jsonb_array_elements_text(r -> 'differences')),"
               " array(select pg_catalog.jsonb_array_elements_text(r -> 'optionDrift'))"
               " from pgflow.ensure_deployment($1::jsonb, $2) as r"};
    struct call *call = call_create(&statement, CALL_SIDE, answer_deployment, (call_done)done, ctx);
    params_text(&call->params, deployment);
    calls_put_texts(&call->params, adopt);
    db_submit(db, call);
}

/* ---- Coverage ---- */

static bool read_counts(const PGresult *result, int row, int column, const int64_t **counts,
                        size_t expected)
{
    struct db_texts texts;
    if (!result_texts(result, row, column, &texts))
        return false;
    int64_t *numbers = calloc(expected + 1, sizeof *numbers);
    for (size_t i = 0; numbers != NULL && i < expected && i < texts.count; i++)
        numbers[i] = strtoll(texts.items[i], NULL, 10);
    *counts = numbers;
    result_texts_free(&texts);
    return numbers != NULL;
}

static bool read_coverage(const PGresult *result, struct db_coverage_row *rows)
{
    for (int i = 0; i < PQntuples(result); i++) {
        rows[i].flow = result_text(result, i, 0);
        rows[i].step = result_text(result, i, 1);
        if (rows[i].flow == NULL || rows[i].step == NULL ||
            !result_texts(result, i, 2, &rows[i].reasons) ||
            !read_counts(result, i, 3, &rows[i].counts, rows[i].reasons.count))
            return false;
    }
    return true;
}

static void answer_coverage(struct call *call, const struct db_status *status, PGresult *result)
{
    db_coverage_done done = (db_coverage_done)call->done;
    if (result == NULL) {
        done(call->ctx, status, NULL);
        return;
    }
    size_t count = (size_t)PQntuples(result);
    struct db_coverage_row *rows = calloc(count + 1, sizeof *rows);
    struct db_coverage coverage = {.rows = rows, .count = count};
    struct db_status failure = rows != NULL ? result_mismatch(status) : result_no_memory(status);
    bool read = rows != NULL && read_coverage(result, rows);
    done(call->ctx, read ? status : &failure, read ? &coverage : NULL);
    for (size_t i = 0; rows != NULL && i < count; i++) {
        result_texts_free(&rows[i].reasons);
        free((void *)rows[i].counts);
    }
    free(rows);
}

void db_missing_coverage(struct db *db, const char *queue, struct db_pairs supported,
                         db_coverage_done done, void *ctx)
{
    static const struct statement statement = {
        .sql = "select flow_slug, step_slug, reasons, counts from"
               " pgflow.missing_coverage($1, " CALLS_PAIRS("$2", "$3") ")"};
    struct call *call = call_create(&statement, CALL_SIDE, answer_coverage, (call_done)done, ctx);
    params_text(&call->params, queue);
    calls_put_pairs(&call->params, supported);
    db_submit(db, call);
}

static void answer_gap_noted(struct call *call, const struct db_status *status, PGresult *result)
{
    db_answer_done done = (db_answer_done)call->done;
    struct db_status mismatch = result_mismatch(status);
    bool is_one = result != NULL && PQntuples(result) == 1;
    bool before = is_one && result_bool(result, 0, 0);
    done(call->ctx, is_one || result == NULL ? status : &mismatch, is_one ? &before : NULL);
}

void db_note_coverage_gap(struct db *db, const char *function, const char *queue, const char *info,
                          db_answer_done done, void *ctx)
{
    static const struct statement statement = {
        .sql = "select pgflow.note_coverage_gap($1, $2, $3::jsonb)"};
    struct call *call = call_create(&statement, CALL_SIDE, answer_gap_noted, (call_done)done, ctx);
    params_text(&call->params, function);
    params_text(&call->params, queue);
    params_text(&call->params, info);
    db_submit(db, call);
}
