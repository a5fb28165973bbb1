/*
 * One call at a time over struct db, by running its loop until the call is
 * answered.
 */
#include "db/sync.h"

#include "db/address.h"
#include "db/db_private.h"
#include "db/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of pg_type, as in params.c. */
enum { OID_BOOL = 16, OID_INT8 = 20, OID_INT2 = 21, OID_INT4 = 23, OID_JSON = 114 };
enum {
    OID_FLOAT4 = 700,
    OID_FLOAT8 = 701,
    OID_TIMESTAMPTZ = 1184,
    OID_NUMERIC = 1700,
    OID_JSONB = 3802
};

struct db_rows {
    PGresult *result;
};

struct db_sync {
    uv_loop_t loop;
    uv_timer_t timer; /* of db_sync_wait */
    struct db_address *address;
    struct db *db;
    void (*on_warning)(const char *text);
    bool is_up, has_failed, is_done, was_notified, is_closed;
    struct error failure;
    struct error *query_error;
    struct db_rows *rows;
    char sqlstate[6];
};

/* Ends the run of the loop; a mere UV_RUN_ONCE would still wait for a socket
 * after a timer has brought the answer. */
static void wake(struct db_sync *sync)
{
    uv_stop(&sync->loop);
}

static void run(struct db_sync *sync)
{
    (void)uv_run(&sync->loop, UV_RUN_DEFAULT);
}

static void on_up(void *ctx)
{
    struct db_sync *sync = ctx;
    sync->is_up = true;
    wake(sync);
}

static void on_down(void *ctx, const char *reason)
{
    struct db_sync *sync = ctx;
    (void)reason;
    sync->is_up = false;
}

static void on_notify(void *ctx)
{
    struct db_sync *sync = ctx;
    sync->was_notified = true;
    wake(sync);
}

static void on_warning(void *ctx, const char *text)
{
    struct db_sync *sync = ctx;
    if (sync->on_warning != NULL)
        sync->on_warning(text);
}

static void on_fatal(void *ctx, const struct error *error)
{
    struct db_sync *sync = ctx;
    sync->has_failed = true;
    sync->failure = *error;
    wake(sync);
}

static void on_closed(void *ctx)
{
    struct db_sync *sync = ctx;
    sync->is_closed = true;
    wake(sync);
}

static bool start(struct db_sync *sync, const struct db_sync_config *config, struct error *error)
{
    int timeout = config->connect_timeout_s;
    struct db_config db_config = {
        .address = sync->address,
        .application_name = config->name,
        .listen_queue = config->listen_queue,
        .connections = 1,
        .any_server = true,
        .connect_timeout_s = timeout > 0 ? timeout : LIMIT_DB_CONNECT_ATTEMPT_S,
        .statement_deadline_ms = config->statement_deadline_ms,
        .ctx = sync,
        .on_up = on_up,
        .on_down = on_down,
        .on_notify = on_notify,
        .on_warning = on_warning,
        .on_fatal = on_fatal,
    };
    sync->db = db_open(&sync->loop, &db_config, error);
    return sync->db != NULL;
}

struct db_sync *db_sync_open(const struct db_sync_config *config, struct error *error)
{
    struct db_sync *sync = calloc(1, sizeof *sync);
    if (sync == NULL || uv_loop_init(&sync->loop) < 0) {
        free(sync);
        (void)error_out_of_memory(error);
        return NULL;
    }
    (void)uv_timer_init(&sync->loop, &sync->timer);
    sync->timer.data = sync;
    sync->on_warning = config->on_warning;
    sync->address = db_address_create(config->url, error);
    if (sync->address != NULL && start(sync, config, error)) {
        while (!sync->is_up && !sync->has_failed)
            run(sync);
        if (sync->is_up)
            return sync;
        *error = sync->failure;
    }
    db_sync_close(sync);
    return NULL;
}

/* The loop may keep a name lookup that hangs; then it is left to the end of the
 * program. */
void db_sync_close(struct db_sync *sync)
{
    if (sync == NULL)
        return;
    uv_close((uv_handle_t *)&sync->timer, NULL);
    if (sync->db != NULL)
        db_close(sync->db, on_closed, sync);
    else
        sync->is_closed = true;
    while (!sync->is_closed)
        run(sync);
    (void)uv_run(&sync->loop, UV_RUN_NOWAIT);
    db_address_destroy(sync->address);
    if (uv_loop_close(&sync->loop) == 0)
        free(sync);
}

const char *db_sync_label(const struct db_sync *sync)
{
    return db_address_label(sync->address);
}

static void set_query_error(struct db_sync *sync, const struct db_status *status)
{
    /* Class 55 (object not in the state for it) passes for a host that comes
     * again, not for somebody who asked once. */
    bool is_refused = status->outcome == DB_ERROR &&
                      (status->permanent || strncmp(status->sqlstate, "55", 2) == 0);
    bool adds = status->detail != NULL && strstr(status->text, status->detail) == NULL;
    (void)snprintf(sync->sqlstate, sizeof sync->sqlstate, "%s", status->sqlstate);
    (void)error_set(sync->query_error, is_refused ? ERROR_CONFIG : ERROR_UNAVAILABLE, "%s%s%s",
                    status->text, adds ? "\n" : "", adds ? status->detail : "");
}

static void on_answer(struct call *call, const struct db_status *status, PGresult *result)
{
    struct db_sync *sync = call->ctx;
    sync->is_done = true;
    wake(sync);
    if (result == NULL) {
        set_query_error(sync, status);
        return;
    }
    sync->rows = calloc(1, sizeof *sync->rows);
    if (sync->rows != NULL)
        sync->rows->result = PQcopyResult(result, PG_COPYRES_ATTRS | PG_COPYRES_TUPLES);
    if (sync->rows == NULL || sync->rows->result == NULL) {
        db_rows_destroy(sync->rows);
        sync->rows = NULL;
        (void)error_out_of_memory(sync->query_error);
    }
}

struct db_rows *db_sync_query(struct db_sync *sync, const char *sql, const char *const *values,
                              size_t count, struct error *error)
{
    struct statement statement = {.sql = sql};
    struct call *call = call_create(&statement, CALL_WORK, on_answer, NULL, sync);
    for (size_t i = 0; i < count; i++)
        params_text(&call->params, values[i]);
    sync->rows = NULL;
    sync->is_done = false;
    sync->query_error = error;
    sync->sqlstate[0] = '\0';
    db_submit(sync->db, call);
    while (!sync->is_done)
        run(sync);
    return sync->rows;
}

const char *db_sync_sqlstate(const struct db_sync *sync)
{
    return sync->sqlstate;
}

static void on_wait_over(uv_timer_t *timer)
{
    wake(timer->data);
}

bool db_sync_hears(struct db_sync *sync, int ms)
{
    (void)uv_timer_start(&sync->timer, on_wait_over, (uint64_t)ms, 0);
    while (!sync->was_notified && uv_is_active((uv_handle_t *)&sync->timer))
        run(sync);
    (void)uv_timer_stop(&sync->timer);
    bool notified = sync->was_notified;
    sync->was_notified = false;
    return notified;
}

bool db_sync_wait(struct db_sync *sync, int ms)
{
    (void)db_sync_hears(sync, ms);
    return sync->is_up;
}

int db_sync_backend_pid(const struct db_sync *sync)
{
    const PGconn *conn = sync->db->connections[0].conn;
    return conn != NULL ? PQbackendPID(conn) : 0;
}

size_t db_rows_count(const struct db_rows *rows)
{
    return (size_t)PQntuples(rows->result);
}

size_t db_rows_columns(const struct db_rows *rows)
{
    return (size_t)PQnfields(rows->result);
}

const char *db_rows_name(const struct db_rows *rows, size_t column)
{
    return PQfname(rows->result, (int)column);
}

const char *db_rows_text(const struct db_rows *rows, size_t row, size_t column)
{
    return result_text(rows->result, (int)row, (int)column);
}

bool db_rows_is_number(const struct db_rows *rows, size_t column)
{
    switch (PQftype(rows->result, (int)column)) {
    case OID_INT2:
    case OID_INT4:
    case OID_INT8:
    case OID_FLOAT4:
    case OID_FLOAT8:
    case OID_NUMERIC:
        return true;
    default:
        return false;
    }
}

bool db_rows_is_bool(const struct db_rows *rows, size_t column)
{
    return PQftype(rows->result, (int)column) == OID_BOOL;
}

bool db_rows_is_time(const struct db_rows *rows, size_t column)
{
    return PQftype(rows->result, (int)column) == OID_TIMESTAMPTZ;
}

bool db_rows_is_json(const struct db_rows *rows, size_t column)
{
    Oid type = PQftype(rows->result, (int)column);
    return type == OID_JSON || type == OID_JSONB;
}

void db_rows_destroy(struct db_rows *rows)
{
    if (rows == NULL)
        return;
    PQclear(rows->result);
    free(rows);
}
