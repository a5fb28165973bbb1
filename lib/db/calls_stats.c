/*
 * What the metrics and the status page ask the database for. They read only; on the side
 * connection, because a long queue takes time to count.
 */
#include "db/calls_support.h"

#include <stdlib.h>

/* Rows of `size` bytes as `read` finds them in the result, to be freed; with one behind them, so
 * that none is no failure. NULL: `answer` says why; else it is the call's own. */
static void *take_rows(const PGresult *result, size_t size,
                       bool (*read)(const PGresult *result, void *rows),
                       const struct db_status *status, struct db_status *answer)
{
    *answer = *status;
    if (result == NULL)
        return NULL;
    void *rows = calloc((size_t)PQntuples(result) + 1, size);
    if (rows == NULL) {
        *answer = result_no_memory(status);
    } else if (!read(result, rows)) {
        *answer = result_mismatch(status);
        free(rows);
        rows = NULL;
    }
    return rows;
}

/* ---- queue_stats ---- */

static bool read_queue_stats(const PGresult *result, void *into)
{
    struct db_queue_stats_row *rows = into;
    static const char *const names[] = {"flow_slug", "step_slug", "depth", "started", "oldest_ms"};
    int columns[5];

    if (!result_columns(result, names, columns, 5))
        return false;
    for (int i = 0; i < PQntuples(result); i++) {
        rows[i].flow = result_text(result, i, columns[0]);
        rows[i].step = result_text(result, i, columns[1]);
        rows[i].queued = result_int64(result, i, columns[2], 0);
        rows[i].started = result_int64(result, i, columns[3], 0);
        rows[i].oldest_ms = result_int64(result, i, columns[4], -1);
        if (rows[i].flow == NULL || rows[i].step == NULL)
            return false;
    }
    return true;
}

static void answer_queue_stats(struct call *call, const struct db_status *status, PGresult *result)
{
    struct db_status answer;
    struct db_queue_stats_row *rows =
        take_rows(result, sizeof *rows, read_queue_stats, status, &answer);
    struct db_queue_stats stats = {.rows = rows,
                                   .count = rows != NULL ? (size_t)PQntuples(result) : 0};

    ((db_queue_stats_done)call->done)(call->ctx, &answer, rows != NULL ? &stats : NULL);
    free(rows);
}

void db_queue_stats(struct db *db, const char *queue, db_queue_stats_done done, void *ctx)
{
    static const struct statement statement = {
        .name = "queue_stats",
        .sql = "select flow_slug, step_slug, depth, started,"
               " (extract(epoch from oldest_age) * 1000)::bigint as oldest_ms"
               " from pgflow.queue_stats($1)"};
    struct call *call =
        call_create(&statement, CALL_SIDE, answer_queue_stats, (call_done)done, ctx);
    params_text(&call->params, queue);
    db_submit(db, call);
}

/* ---- draining_runs ---- */

static bool read_drain(const PGresult *result, void *into)
{
    struct db_drain_row *rows = into;
    static const char *const names[] = {"flow_slug", "is_active", "started_runs"};
    int columns[3];

    if (!result_columns(result, names, columns, 3))
        return false;
    for (int i = 0; i < PQntuples(result); i++) {
        rows[i].flow = result_text(result, i, columns[0]);
        rows[i].is_active = result_bool(result, i, columns[1]);
        rows[i].started_runs = result_int64(result, i, columns[2], -1);
        if (rows[i].flow == NULL)
            return false;
    }
    return true;
}

static void answer_drain(struct call *call, const struct db_status *status, PGresult *result)
{
    struct db_status answer;
    struct db_drain_row *rows = take_rows(result, sizeof *rows, read_drain, status, &answer);
    struct db_drain drain = {.rows = rows, .count = rows != NULL ? (size_t)PQntuples(result) : 0};

    ((db_drain_done)call->done)(call->ctx, &answer, rows != NULL ? &drain : NULL);
    free(rows);
}

void db_draining_runs(struct db *db, struct db_texts flows, db_drain_done done, void *ctx)
{
    static const struct statement statement = {
        .name = "draining_runs",
        .sql = "select flow_slug, is_active, started_runs from pgflow.draining_runs($1::text[])"};
    struct call *call = call_create(&statement, CALL_SIDE, answer_drain, (call_done)done, ctx);
    calls_put_texts(&call->params, flows);
    db_submit(db, call);
}

/* ---- host_status, database_metrics ---- */

static void answer_document(struct call *call, const struct db_status *status, PGresult *result)
{
    db_document_done done = (db_document_done)call->done;
    struct db_status mismatch = result_mismatch(status);
    if (result == NULL) {
        done(call->ctx, status, NULL);
        return;
    }
    const char *text =
        PQntuples(result) == 1 && PQnfields(result) == 1 ? result_text(result, 0, 0) : NULL;
    done(call->ctx, text != NULL ? status : &mismatch, text);
}

void db_host_status(struct db *db, const char *queue, struct db_texts flows, db_document_done done,
                    void *ctx)
{
    static const struct statement statement = {.name = "host_status",
                                               .sql = "select pgflow.host_status($1, $2::text[])"};
    struct call *call = call_create(&statement, CALL_SIDE, answer_document, (call_done)done, ctx);
    params_text(&call->params, queue);
    calls_put_texts(&call->params, flows);
    db_submit(db, call);
}

void db_database_metrics(struct db *db, db_document_done done, void *ctx)
{
    static const struct statement statement = {.name = "database_metrics",
                                               .sql = "select pgflow.database_metrics()"};
    db_submit(db, call_create(&statement, CALL_SIDE, answer_document, (call_done)done, ctx));
}
