/*
 * The connections as one thing: which connection takes a call, what its owner is
 * told, and how it all ends.
 */
#include "db/db.h"

#include "base/buf.h"
#include "db/address.h"
#include "db/connection_remedy.h"
#include "db/db_private.h"
#include "log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct connection *work_connection(const struct db *db)
{
    return (struct connection *)&db->connections[db->connection_count > 1 ? 1 : 0];
}

static void close_connections(struct db *db)
{
    for (int i = 0; i < db->connection_count; i++) {
        if (db->connections[i].state != CONNECTION_CLOSED)
            connection_close(&db->connections[i]);
    }
}

/* ---- Answers that no server gave ---- */

static void on_later(uv_timer_t *timer)
{
    struct db *db = timer->data;
    struct call_queue due = STAILQ_HEAD_INITIALIZER(due);
    STAILQ_CONCAT(&due, &db->later);
    while (!STAILQ_EMPTY(&due)) {
        struct call *call = STAILQ_FIRST(&due);
        STAILQ_REMOVE_HEAD(&due, link);
        call_answer_later(call);
    }
}

void db_answer_later(struct db *db, struct call *call, enum db_outcome outcome, bool permanent,
                     const char *text)
{
    call->outcome = outcome;
    call->permanent = permanent;
    (void)snprintf(call->text, sizeof call->text, "%s", text);
    STAILQ_INSERT_TAIL(&db->later, call, link);
    if (outcome == DB_LOST)
        db->counts.lost++;
    (void)uv_timer_start(&db->later_timer, on_later, 0, 0);
}

/* ---- Calls ---- */

static struct connection *choose_connection(struct db *db, const struct call *call)
{
    struct connection *work = work_connection(db);
    if (call->connection == CALL_LISTEN)
        return &db->connections[0];
    if (call->connection == CALL_WORK || db->check != DB_CHECK_NONE || db->connection_count == 1)
        return work;
    struct connection *wanted =
        &db->connections[call->connection == CALL_SIDE && db->connection_count > 2 ? 2 : 0];
    /* With more connections than three the side connection is the least busy one. */
    for (int i = 3; call->connection == CALL_SIDE && i < db->connection_count; i++) {
        if (db->connections[i].state == CONNECTION_UP &&
            (wanted->state != CONNECTION_UP || db->connections[i].count < wanted->count))
            wanted = &db->connections[i];
    }
    return wanted->state == CONNECTION_UP ? wanted : work;
}

void db_submit(struct db *db, struct call *call)
{
    if (!params_ok(&call->params)) {
        db_answer_later(db, call, DB_UNSENT, true,
                        "the statement's parameters are too large for PostgreSQL (1 GiB), or there "
                        "is no memory for them");
        return;
    }
    if (db->check == DB_CHECK_BROKEN) {
        db_answer_later(db, call, DB_UNSENT, true,
                        "the transaction of --check was lost with its connection");
        return;
    }
    struct connection *connection = choose_connection(db, call);
    if (connection->state != CONNECTION_UP) {
        db_answer_later(db, call, DB_UNSENT, false, "not connected to the database");
        return;
    }
    if (connection->count >= LIMIT_DB_CALLS_QUEUED) {
        db_answer_later(db, call, DB_UNSENT, false, "too many calls wait for the database");
        return;
    }
    call->retry_never = db->check != DB_CHECK_NONE;
    connection_put(connection, call);
}

/* Runs right before the loop waits for its sockets: sends what they did not
 * take at once, and has them watched for it. */
static void on_flush(uv_prepare_t *prepare)
{
    struct db *db = prepare->data;
    for (int i = 0; i < db->connection_count; i++) {
        if (db->connections[i].dirty && db->connections[i].conn != NULL)
            connection_flush(&db->connections[i]);
    }
}

/* ---- What the connections tell ---- */

static bool is_over(const struct db *db)
{
    return db->state == DB_STATE_CLOSED || db->state == DB_STATE_FATAL;
}

static void tell_listening(struct db *db, bool listening)
{
    if (db->config.on_listening != NULL && !is_over(db))
        db->config.on_listening(db->config.ctx, listening);
}

static bool all_up(const struct db *db)
{
    for (int i = 0; i < db->connection_count; i++) {
        if (db->connections[i].state != CONNECTION_UP)
            return false;
    }
    return true;
}

void db_connection_up(struct db *db, struct connection *connection)
{
    bool first = connection->up_count == 1;
    if (!first)
        db->counts.reconnects++;
    char server[LIMIT_DB_SERVER];

    (void)snprintf(server, sizeof server, "%s:%s", PQhost(connection->conn),
                   PQport(connection->conn));
    log_info(first ? "db_connected" : "db_reconnected",
             first ? "connected to the database" : "connected to the database again",
             LOG_FIELD_TEXT("database", db_address_label(db->config.address)),
             LOG_FIELD_TEXT("server", server), /* of several, the one that took it */
             LOG_FIELD_INT("connection", connection->index));
    if (db->state == DB_STATE_OPENING ? all_up(db) : connection == work_connection(db)) {
        (void)uv_timer_stop(&db->open_timer);
        db->state = DB_STATE_UP;
        db->config.on_up(db->config.ctx);
    }
    if (connection->listens && connection->state == CONNECTION_UP)
        tell_listening(db, true);
    if (connection->listens && connection->state == CONNECTION_UP)
        db_notified(db, true, true);
}

void db_connection_lost(struct db *db, struct connection *connection, const char *reason)
{
    log_warn("db_lost", "lost the connection to the database, connecting again",
             LOG_FIELD_INT("connection", connection->index), LOG_ERROR(reason));
    if (db->check == DB_CHECK_OPEN && connection == work_connection(db))
        db->check = DB_CHECK_BROKEN;
    if (connection->listens)
        tell_listening(db, false);
    if (db->state != DB_STATE_UP || connection != work_connection(db))
        return;
    db->state = DB_STATE_DOWN;
    db->config.on_down(db->config.ctx, reason);
}

static void fail_for_good(struct db *db, const struct error *error)
{
    db->state = DB_STATE_FATAL;
    (void)uv_timer_stop(&db->open_timer);
    close_connections(db);
    db->config.on_fatal(db->config.ctx, error);
}

void db_connection_failed(struct db *db, const char *reason, const struct error *error)
{
    (void)snprintf(db->last_reason, sizeof db->last_reason, "%s", reason);
    if (db->state == DB_STATE_OPENING && error != NULL)
        fail_for_good(db, error);
}

static void on_open_timeout(uv_timer_t *timer)
{
    struct db *db = timer->data;
    struct error error;
    const char *remedy = connection_remedy(db->last_reason);
    (void)error_set(&error, ERROR_UNAVAILABLE,
                    "database %s could not be reached within %d s: %s; %s",
                    db_address_label(db->config.address), db->config.connect_timeout_s,
                    *db->last_reason ? db->last_reason : "no answer",
                    remedy != NULL ? remedy
                                   : "check that PostgreSQL runs there and that --database (or "
                                     "PGFLOW_DATABASE, DATABASE_URL, PG*) names it");
    fail_for_good(db, &error);
}

/* The server became a standby: every connection to it is useless. */
void db_connection_read_only(struct db *db)
{
    for (int i = 0; i < db->connection_count; i++) {
        if (db->connections[i].state == CONNECTION_UP)
            connection_drop(&db->connections[i],
                            "the server is read-only (25006), looking for the writable one", true);
    }
}

void db_notified(struct db *db, bool work, bool control)
{
    if (work && db->config.on_notify != NULL && !is_over(db))
        db->config.on_notify(db->config.ctx);
    if (control && db->config.on_control != NULL && !is_over(db))
        db->config.on_control(db->config.ctx);
}

/* ---- Life ---- */

static bool config_is_valid(const struct db_config *config, struct error *error)
{
    if (config->connections < 1 || config->connections > LIMIT_DB_CONNECTIONS)
        return error_set(error, ERROR_USAGE, "--db-connections %d: give a number from 1 to %d",
                         config->connections, LIMIT_DB_CONNECTIONS);
    return true;
}

/* Two connections at least for the names that libpq gets as an identifier. */
static bool make_listen(struct statement *statement, const char *prefix, const char *name)
{
    struct buf sql;
    buf_init(&sql, 4 * LIMIT_KIB);
    buf_printf(&sql, "listen \"%s", prefix);
    for (const char *c = name; *c; c++) {
        if (*c == '"')
            buf_putc(&sql, '"');
        buf_putc(&sql, *c);
    }
    buf_putc(&sql, '"');
    statement->sql = buf_detach(&sql, NULL);
    return statement->sql != NULL;
}

static bool make_listens(struct db *db, const struct db_config *config)
{
    if (config->pooled || config->listen_queue == NULL)
        return true;
    if (config->control_channel != NULL) {
        db->config.control_channel = strdup(config->control_channel);
        if (db->config.control_channel == NULL ||
            !make_listen(&db->control_statement, "", config->control_channel))
            return false;
    }
    return make_listen(&db->listen_statement, "pgflow_q_", config->listen_queue);
}

static bool copy_config(struct db *db, const struct db_config *config)
{
    db->config = *config;
    db->config.listen_queue = NULL;
    db->config.control_channel = NULL;
    if (db->config.statement_deadline_ms <= 0)
        db->config.statement_deadline_ms = LIMIT_DB_DEADLINE_MS;
    db->config.application_name =
        strdup(config->application_name != NULL ? config->application_name : "");
    if (db->config.application_name == NULL)
        return false;
    return make_listens(db, config);
}

static void free_db(struct db *db)
{
    free((void *)db->config.application_name);
    free((void *)db->config.control_channel);
    free((void *)db->listen_statement.sql);
    free((void *)db->control_statement.sql);
    free(db);
}

struct db *db_open(uv_loop_t *loop, const struct db_config *config, struct error *error)
{
    struct db *db = NULL;
    if (!config_is_valid(config, error))
        return NULL;
    db = calloc(1, sizeof *db);
    if (db == NULL || !copy_config(db, config)) {
        if (db != NULL)
            free_db(db);
        (void)error_out_of_memory(error);
        return NULL;
    }
    db->loop = loop;
    STAILQ_INIT(&db->later);
    db->connection_count = config->connections;
    (void)uv_timer_init(loop, &db->open_timer);
    (void)uv_timer_init(loop, &db->later_timer);
    (void)uv_prepare_init(loop, &db->flusher);
    db->open_timer.data = db;
    db->later_timer.data = db;
    db->flusher.data = db;
    (void)uv_prepare_start(&db->flusher, on_flush);
    for (int i = 0; i < db->connection_count; i++)
        connection_init(&db->connections[i], db, i, i == 0 && db->listen_statement.sql != NULL);
    if (config->connect_timeout_s > 0)
        (void)uv_timer_start(&db->open_timer, on_open_timeout,
                             (uint64_t)config->connect_timeout_s * 1000, 0);
    for (int i = 0; i < db->connection_count; i++)
        connection_start(&db->connections[i]);
    return db;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct db *db = handle->data;
    if (--db->handles_open > 0)
        return;
    if (db->closed != NULL)
        db->closed(db->closed_ctx);
    free_db(db);
}

static void on_connection_timer_closed(uv_handle_t *handle)
{
    const struct connection *connection = handle->data;
    handle->data = connection->db;
    on_handle_closed(handle);
}

static void close_handles(struct db *db)
{
    db->handles_open = 3 + db->connection_count;
    for (int i = 0; i < db->connection_count; i++)
        uv_close((uv_handle_t *)&db->connections[i].timer, on_connection_timer_closed);
    uv_close((uv_handle_t *)&db->open_timer, on_handle_closed);
    uv_close((uv_handle_t *)&db->later_timer, on_handle_closed);
    uv_close((uv_handle_t *)&db->flusher, on_handle_closed);
}

/* Callbacks of the last answers may still make calls; they go round until none
 * does. */
static void on_close(uv_timer_t *timer)
{
    struct db *db = timer->data;
    while (!STAILQ_EMPTY(&db->later))
        on_later(&db->later_timer);
    close_handles(db);
}

void db_close(struct db *db, void (*closed)(void *ctx), void *ctx)
{
    db->state = DB_STATE_CLOSED;
    db->closed = closed;
    db->closed_ctx = ctx;
    close_connections(db);
    (void)uv_timer_stop(&db->later_timer);
    (void)uv_timer_start(&db->open_timer, on_close, 0, 0);
}

bool db_is_up(const struct db *db)
{
    return work_connection(db)->state == CONNECTION_UP;
}

size_t db_calls_pending(const struct db *db)
{
    size_t count = 0;
    const struct call *call;
    for (int i = 0; i < db->connection_count; i++)
        count += db->connections[i].count;
    STAILQ_FOREACH (call, &db->later, link)
        count++;
    return count;
}

void db_count(const struct db *db, struct db_counts *counts)
{
    *counts = db->counts;
}

/* ---- The transaction of --check ---- */

static const struct statement begin_statement = {.sql = "begin isolation level read committed"};
static const struct statement rollback_statement = {.sql = "rollback"};

static void check_answered(struct call *call, const struct db_status *status, PGresult *result)
{
    db_done done = (db_done)call->done;
    (void)result;
    done(call->ctx, status);
}

void db_check_begin(struct db *db, db_done done, void *ctx)
{
    /* Open from now on, not from the answer: what is put behind the begin
     * belongs to it. */
    db->check = db_is_up(db) ? DB_CHECK_OPEN : DB_CHECK_BROKEN;
    db_submit(db, call_create(&begin_statement, CALL_WORK, check_answered, (call_done)done, ctx));
}

void db_check_end(struct db *db, db_done done, void *ctx)
{
    db_submit(db,
              call_create(&rollback_statement, CALL_WORK, check_answered, (call_done)done, ctx));
    db->check = DB_CHECK_NONE;
}
