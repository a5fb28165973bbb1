/*
 * The pipeline of one connection that is up.
 */
#include "db/connection.h"

#include "base/clock.h"
#include "db/db_private.h"
#include "db/resolve.h"
#include "db/sqlstate.h"
#include "log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define RACE_SENDINGS 3
#define FIRST_BACKOFF_MS 100

static const char *const state_names[] = {
    [CONNECTION_CLOSED] = "closed",
    [CONNECTION_RESOLVING] = "resolving",
    [CONNECTION_CONNECTING] = "connecting",
    [CONNECTION_GREETING] = "greeting",
    [CONNECTION_UP] = "up",
    [CONNECTION_WAITING] = "waiting",
};

/* The oldest call without an answer; NULL: none. */
static struct call *first_call(const struct connection *connection)
{
    return STAILQ_FIRST(&connection->calls);
}

void connection_init(struct connection *connection, struct db *db, int index, bool listens)
{
    *connection = (struct connection){.db = db, .index = index, .listens = listens};
    STAILQ_INIT(&connection->calls);
    (void)uv_timer_init(db->loop, &connection->timer);
    connection->timer.data = connection;
}

void connection_set_state(struct connection *connection, enum connection_state state)
{
    log_debug("db_connection", "connection changes state",
              LOG_FIELD_INT("connection", connection->index),
              LOG_FIELD_TEXT("from", state_names[connection->state]),
              LOG_FIELD_TEXT("to", state_names[state]));
    connection->state = state;
}

/* ---- The socket ---- */

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

/* libuv must forget the descriptor before libpq closes it: a new socket may get
 * the same number. */
static void unwatch(struct connection *connection)
{
    if (connection->poll == NULL)
        return;
    (void)uv_poll_stop(connection->poll);
    uv_close((uv_handle_t *)connection->poll, free_handle);
    connection->poll = NULL;
    connection->poll_events = 0;
}

static void read_answers(struct connection *connection);

/* A negative status means that the socket is broken and libuv has stopped
 * watching it; libpq finds out why when it reads. */
static void on_socket(uv_poll_t *poll, int status, int events)
{
    struct connection *connection = poll->data;
    if (status < 0)
        connection->poll_events = 0;
    if (connection->state == CONNECTION_CONNECTING) {
        connection_open_step(connection);
        return;
    }
    if (status < 0 || (events & UV_READABLE))
        read_answers(connection);
    if (connection->conn != NULL && connection->poll == poll && status < 0)
        connection_drop(connection, "the connection broke", false);
    else if (connection->conn != NULL)
        connection_flush(connection);
}

void connection_watch(struct connection *connection, int events)
{
    if (events == 0) {
        unwatch(connection);
        return;
    }
    if (connection->poll != NULL && connection->poll_events == events)
        return;
    if (connection->poll == NULL) {
        connection->poll = calloc(1, sizeof *connection->poll);
        if (connection->poll == NULL ||
            uv_poll_init(connection->db->loop, connection->poll, PQsocket(connection->conn)) < 0) {
            free(connection->poll);
            connection->poll = NULL;
            connection_drop(connection, "the socket cannot be watched", false);
            return;
        }
        connection->poll->data = connection;
    }
    connection->poll_events = events;
    (void)uv_poll_start(connection->poll, events, on_socket);
}

void connection_flush(struct connection *connection)
{
    connection->dirty = false;
    int left = PQflush(connection->conn);
    if (left < 0)
        connection_drop(connection, PQerrorMessage(connection->conn), false);
    else
        connection_watch(connection, left > 0 ? UV_READABLE | UV_WRITABLE : UV_READABLE);
}

/* ---- Calls out ---- */

static void on_deadline(uv_timer_t *timer)
{
    struct connection *connection = timer->data;
    const struct call *late = first_call(connection);
    /* After a SIGSTOP or a long callback the answer may be here already. */
    read_answers(connection);
    if (connection->conn == NULL || first_call(connection) == NULL ||
        first_call(connection) != late)
        return;
    connection_drop(connection, "a statement took longer than its deadline", false);
}

static void restart_deadline(struct connection *connection)
{
    int deadline = connection->db->config.statement_deadline_ms;
    if (first_call(connection) == NULL || connection->state == CONNECTION_GREETING)
        return;
    (void)uv_timer_start(&connection->timer, on_deadline, (uint64_t)deadline, 0);
}

static bool is_prepared(const struct connection *connection, const struct statement *statement)
{
    for (int i = 0; i < connection->prepared_count; i++) {
        if (connection->prepared[i] == statement)
            return true;
    }
    return false;
}

static void forget_prepared(struct connection *connection, const struct statement *statement)
{
    for (int i = 0; i < connection->prepared_count; i++) {
        if (connection->prepared[i] == statement)
            connection->prepared[i] = connection->prepared[--connection->prepared_count];
    }
}

static bool send_call(struct connection *connection, struct call *call)
{
    char name[80];
    const struct statement *statement = call->statement;
    bool named = statement->name != NULL && !connection->db->config.pooled && !call->unnamed;
    if (!named)
        return call_send(call, connection->conn, false, NULL);
    bool known = is_prepared(connection, statement);
    (void)snprintf(name, sizeof name, "pgflow_%s_%u", statement->name, connection->generation);
    if (!known && connection->prepared_count == CONNECTION_STATEMENTS)
        return call_send(call, connection->conn, false, NULL);
    if (!known)
        connection->prepared[connection->prepared_count++] = statement;
    return call_send(call, connection->conn, known, name);
}

void connection_put(struct connection *connection, struct call *call)
{
    STAILQ_INSERT_TAIL(&connection->calls, call, link);
    if (connection->count++ == 0)
        restart_deadline(connection);
    connection->dirty = true;
    /* Half a message in libpq's buffer cannot be taken back. */
    if (!send_call(connection, call) || !PQpipelineSync(connection->conn))
        connection_drop(connection, PQerrorMessage(connection->conn), false);
}

/* ---- Answers in ---- */

static struct call *take_first(struct connection *connection)
{
    struct call *call = first_call(connection);
    STAILQ_REMOVE_HEAD(&connection->calls, link);
    connection->count--;
    if (STAILQ_EMPTY(&connection->calls) && connection->state == CONNECTION_UP)
        (void)uv_timer_stop(&connection->timer);
    restart_deadline(connection);
    return call;
}

/* Races are run again at once; a statement whose name is stale is sent without
 * one and prepared anew by the next call. */
static bool should_resend(struct connection *connection, struct call *call)
{
    const char *sqlstate = call_sqlstate(call);
    if (call->is_named && call->prepare_ahead)
        forget_prepared(connection, call->statement);
    if (call->retry_never || call->is_greeting)
        return false;
    if (sqlstate_is_race(sqlstate))
        return call->sendings < RACE_SENDINGS;
    if (!call->is_named || !sqlstate_is_stale_statement(sqlstate))
        return false;
    forget_prepared(connection, call->statement);
    connection->generation++;
    call->unnamed = true;
    return true;
}

static void answer_head(struct connection *connection)
{
    struct call *call = take_first(connection);
    if (should_resend(connection, call)) {
        PQclear(call->result);
        call->result = NULL;
        connection_put(connection, call);
        return;
    }
    if (sqlstate_is_read_only(call_sqlstate(call)))
        connection->read_only = true;
    if (!call->is_greeting)
        connection->db->counts.calls++;
    call_answer_result(call);
}

static void take_notifications(struct connection *connection)
{
    bool work = false, control = false;
    const char *channel = connection->db->config.control_channel;
    for (PGnotify *notify;
         connection->conn != NULL && (notify = PQnotifies(connection->conn)) != NULL;) {
        bool is_control = channel != NULL && strcmp(notify->relname, channel) == 0;
        PQfreemem(notify);
        control = control || is_control;
        work = work || !is_control;
    }
    db_notified(connection->db, work, control);
}

static bool is_copy(ExecStatusType status)
{
    return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

/* An error that no server sent, such as "out of memory for query result": what
 * became of the statement is unknown. */
static bool is_of_libpq(const PGresult *result)
{
    return PQresultStatus(result) == PGRES_FATAL_ERROR &&
           PQresultErrorField(result, PG_DIAG_SQLSTATE) == NULL;
}

/* Calls end at their Sync: an error may still come between the last row and the
 * commit. */
static void take_result(struct connection *connection, PGresult *result)
{
    if (result == NULL) {
        if (++connection->empty_results > 2)
            connection_drop(connection, "the server's answers are out of step", false);
        return;
    }
    connection->empty_results = 0;
    if (is_copy(PQresultStatus(result))) {
        /* libpq would answer this for ever. */
        PQclear(result);
        connection_drop(connection, "the server's answers are out of step", false);
    } else if (is_of_libpq(result)) {
        connection_drop(connection, PQresultErrorMessage(result), false);
        PQclear(result);
    } else if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
        PQclear(result);
        answer_head(connection);
    } else {
        call_take_result(first_call(connection), result);
    }
}

static void read_answers(struct connection *connection)
{
    const PGconn *conn = connection->conn;
    bool alive = PQconsumeInput(connection->conn) == 1;
    /* A callback may drop this connection, or close everything. */
    while (connection->conn == conn && first_call(connection) != NULL &&
           !PQisBusy(connection->conn)) {
        take_result(connection, PQgetResult(connection->conn));
        take_notifications(connection);
    }
    if (connection->conn == conn && conn != NULL)
        take_notifications(connection);
    if (connection->conn != conn)
        return;
    if (!alive)
        connection_drop(connection, PQerrorMessage(connection->conn), false);
    else if (connection->read_only)
        db_connection_read_only(connection->db);
}

/* ---- The end of a connection ---- */

static void lose_calls(struct connection *connection, const char *reason)
{
    struct call_queue lost = STAILQ_HEAD_INITIALIZER(lost);
    STAILQ_CONCAT(&lost, &connection->calls);
    connection->count = 0;
    while (!STAILQ_EMPTY(&lost)) {
        struct call *call = STAILQ_FIRST(&lost);
        STAILQ_REMOVE_HEAD(&lost, link);
        PQclear(call->result);
        call->result = NULL;
        if (call->is_greeting)
            call_destroy(call);
        else
            db_answer_later(connection->db, call, DB_LOST, false, reason);
    }
}

/* The FATAL that a dying server sent says more than "connection closed". */
static void describe_loss(const struct connection *connection, char *text, size_t size,
                          const char *reason)
{
    const PGresult *last = first_call(connection) != NULL ? first_call(connection)->result : NULL;
    const char *primary = last != NULL ? PQresultErrorField(last, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    sqlstate_describe(text, size, primary != NULL ? primary : reason);
}

static void release(struct connection *connection, const char *reason)
{
    if (connection->resolve != NULL)
        resolve_cancel(connection->resolve);
    connection->resolve = NULL;
    (void)uv_timer_stop(&connection->timer);
    unwatch(connection);
    lose_calls(connection, reason);
    PQfinish(connection->conn);
    connection->conn = NULL;
    connection->dirty = false;
    connection->read_only = false;
    connection->empty_results = 0;
    connection->prepared_count = 0;
}

static void on_backoff_over(uv_timer_t *timer)
{
    connection_open(timer->data);
}

/* Half to all of 100 ms, doubled for each failure: hosts that lost the same
 * server must not come back in step. */
static uint64_t backoff_ms(unsigned failures)
{
    uint64_t whole = clock_backoff_ms(FIRST_BACKOFF_MS, LIMIT_DB_RECONNECT_MS, failures);
    uint16_t noise = 0;
    if (getrandom(&noise, sizeof noise, GRND_NONBLOCK) < 0)
        noise = UINT16_MAX / 2;
    return whole / 2 + whole / 2 * noise / UINT16_MAX;
}

void connection_drop(struct connection *connection, const char *reason, bool next_address)
{
    char text[512];
    bool was_up = connection->state == CONNECTION_UP;
    if (connection->state == CONNECTION_CLOSED || connection->state == CONNECTION_WAITING)
        return;
    describe_loss(connection, text, sizeof text, reason);
    release(connection, text);
    if (next_address)
        connection->rotation++;
    connection_set_state(connection, CONNECTION_WAITING);
    (void)uv_timer_start(&connection->timer, on_backoff_over, backoff_ms(connection->failures++),
                         0);
    if (was_up)
        db_connection_lost(connection->db, connection, text);
}

/* From the loop: a local socket may be refused at once, and no callback may
 * come from inside db_open. */
void connection_start(struct connection *connection)
{
    connection_set_state(connection, CONNECTION_WAITING);
    (void)uv_timer_start(&connection->timer, on_backoff_over, 0, 0);
}

void connection_close(struct connection *connection)
{
    release(connection, "the host closed the connection");
    connection_set_state(connection, CONNECTION_CLOSED);
}
