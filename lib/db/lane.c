/*
 * The pipeline of one connection that is up.
 */
#include "db/lane.h"

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
    [LANE_CLOSED] = "closed",
    [LANE_RESOLVING] = "resolving",
    [LANE_CONNECTING] = "connecting",
    [LANE_GREETING] = "greeting",
    [LANE_UP] = "up",
    [LANE_WAITING] = "waiting",
};

void lane_init(struct lane *lane, struct db *db, int index, bool listens)
{
    *lane = (struct lane){.db = db, .index = index, .listens = listens};
    lane->tail = &lane->head;
    (void)uv_timer_init(db->loop, &lane->timer);
    lane->timer.data = lane;
}

void lane_set_state(struct lane *lane, enum lane_state state)
{
    log_debug("db_connection", "connection changes state", LOG_FIELD_INT("connection", lane->index),
              LOG_FIELD_TEXT("from", state_names[lane->state]),
              LOG_FIELD_TEXT("to", state_names[state]));
    lane->state = state;
}

/* ---- The socket ---- */

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

/* libuv must forget the descriptor before libpq closes it: a new socket may get
 * the same number. */
static void unwatch(struct lane *lane)
{
    if (!lane->poll)
        return;
    (void)uv_poll_stop(lane->poll);
    uv_close((uv_handle_t *)lane->poll, free_handle);
    lane->poll = NULL;
    lane->poll_events = 0;
}

static void read_answers(struct lane *lane);

/* A negative status means that the socket is broken and libuv has stopped
 * watching it; libpq finds out why when it reads. */
static void on_socket(uv_poll_t *poll, int status, int events)
{
    struct lane *lane = poll->data;
    if (status < 0)
        lane->poll_events = 0;
    if (lane->state == LANE_CONNECTING) {
        lane_connect_step(lane);
        return;
    }
    if (status < 0 || (events & UV_READABLE))
        read_answers(lane);
    if (lane->conn && lane->poll == poll && status < 0)
        lane_drop(lane, "the connection broke", false);
    else if (lane->conn)
        lane_flush(lane);
}

void lane_watch(struct lane *lane, int events)
{
    if (events == 0) {
        unwatch(lane);
        return;
    }
    if (lane->poll && lane->poll_events == events)
        return;
    if (!lane->poll) {
        lane->poll = calloc(1, sizeof(*lane->poll));
        if (!lane->poll || uv_poll_init(lane->db->loop, lane->poll, PQsocket(lane->conn)) < 0) {
            free(lane->poll);
            lane->poll = NULL;
            lane_drop(lane, "the socket cannot be watched", false);
            return;
        }
        lane->poll->data = lane;
    }
    lane->poll_events = events;
    (void)uv_poll_start(lane->poll, events, on_socket);
}

void lane_flush(struct lane *lane)
{
    lane->dirty = false;
    int left = PQflush(lane->conn);
    if (left < 0)
        lane_drop(lane, PQerrorMessage(lane->conn), false);
    else
        lane_watch(lane, left > 0 ? UV_READABLE | UV_WRITABLE : UV_READABLE);
}

/* ---- Calls out ---- */

static void on_deadline(uv_timer_t *timer)
{
    struct lane *lane = timer->data;
    const struct call *late = lane->head;
    /* After a SIGSTOP or a long callback the answer may be here already. */
    read_answers(lane);
    if (!lane->conn || !lane->head || lane->head != late)
        return;
    lane_drop(lane, "a statement took longer than its deadline", false);
}

static void restart_deadline(struct lane *lane)
{
    int deadline = lane->db->config.statement_deadline_ms;
    if (!lane->head || lane->state == LANE_GREETING)
        return;
    (void)uv_timer_start(&lane->timer, on_deadline, (uint64_t)deadline, 0);
}

static bool is_prepared(const struct lane *lane, const struct statement *statement)
{
    for (int i = 0; i < lane->prepared_count; i++) {
        if (lane->prepared[i] == statement)
            return true;
    }
    return false;
}

static void forget_prepared(struct lane *lane, const struct statement *statement)
{
    for (int i = 0; i < lane->prepared_count; i++) {
        if (lane->prepared[i] == statement)
            lane->prepared[i] = lane->prepared[--lane->prepared_count];
    }
}

static bool send_call(struct lane *lane, struct call *call)
{
    char name[80];
    const struct statement *statement = call->statement;
    bool named = statement->name && !lane->db->config.pooled && !call->unnamed;
    if (!named)
        return call_send(call, lane->conn, false, NULL);
    bool known = is_prepared(lane, statement);
    (void)snprintf(name, sizeof(name), "pgflow_%s_%u", statement->name, lane->generation);
    if (!known && lane->prepared_count == LANE_STATEMENTS)
        return call_send(call, lane->conn, false, NULL);
    if (!known)
        lane->prepared[lane->prepared_count++] = statement;
    return call_send(call, lane->conn, known, name);
}

void lane_put(struct lane *lane, struct call *call)
{
    call->next = NULL;
    *lane->tail = call;
    lane->tail = &call->next;
    if (lane->count++ == 0)
        restart_deadline(lane);
    lane->dirty = true;
    /* Half a message in libpq's buffer cannot be taken back. */
    if (!send_call(lane, call) || !PQpipelineSync(lane->conn))
        lane_drop(lane, PQerrorMessage(lane->conn), false);
}

/* ---- Answers in ---- */

static struct call *take_head(struct lane *lane)
{
    struct call *call = lane->head;
    lane->head = call->next;
    call->next = NULL;
    lane->count--;
    if (!lane->head) {
        lane->tail = &lane->head;
        if (lane->state == LANE_UP)
            (void)uv_timer_stop(&lane->timer);
    }
    restart_deadline(lane);
    return call;
}

/* Races are run again at once; a statement whose name is stale is sent without
 * one and prepared anew by the next call. */
static bool should_resend(struct lane *lane, struct call *call)
{
    const char *sqlstate = call_sqlstate(call);
    if (call->is_named && call->prepare_ahead)
        forget_prepared(lane, call->statement);
    if (call->retry_never || call->is_greeting)
        return false;
    if (sqlstate_is_race(sqlstate))
        return call->sendings < RACE_SENDINGS;
    if (!call->is_named || !sqlstate_is_stale_statement(sqlstate))
        return false;
    forget_prepared(lane, call->statement);
    lane->generation++;
    call->unnamed = true;
    return true;
}

static void answer_head(struct lane *lane)
{
    struct call *call = take_head(lane);
    if (should_resend(lane, call)) {
        PQclear(call->result);
        call->result = NULL;
        lane_put(lane, call);
        return;
    }
    if (sqlstate_is_read_only(call_sqlstate(call)))
        lane->read_only = true;
    if (!call->is_greeting)
        lane->db->counts.calls++;
    call_answer_result(call);
}

static void take_notifications(struct lane *lane)
{
    bool work = false, control = false;
    const char *channel = lane->db->config.control_channel;
    for (PGnotify *notify; lane->conn && (notify = PQnotifies(lane->conn));) {
        bool is_control = channel && strcmp(notify->relname, channel) == 0;
        PQfreemem(notify);
        control = control || is_control;
        work = work || !is_control;
    }
    db_notified(lane->db, work, control);
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
           !PQresultErrorField(result, PG_DIAG_SQLSTATE);
}

/* Calls end at their Sync: an error may still come between the last row and the
 * commit. */
static void take_result(struct lane *lane, PGresult *result)
{
    if (!result) {
        if (++lane->empty_results > 2)
            lane_drop(lane, "the server's answers are out of step", false);
        return;
    }
    lane->empty_results = 0;
    if (is_copy(PQresultStatus(result))) {
        /* libpq would answer this for ever. */
        PQclear(result);
        lane_drop(lane, "the server's answers are out of step", false);
    } else if (is_of_libpq(result)) {
        lane_drop(lane, PQresultErrorMessage(result), false);
        PQclear(result);
    } else if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
        PQclear(result);
        answer_head(lane);
    } else {
        call_take_result(lane->head, result);
    }
}

static void read_answers(struct lane *lane)
{
    const PGconn *conn = lane->conn;
    bool alive = PQconsumeInput(lane->conn) == 1;
    /* A callback may drop this connection, or close everything. */
    while (lane->conn == conn && lane->head && !PQisBusy(lane->conn)) {
        take_result(lane, PQgetResult(lane->conn));
        take_notifications(lane);
    }
    if (lane->conn == conn && conn)
        take_notifications(lane);
    if (lane->conn != conn)
        return;
    if (!alive)
        lane_drop(lane, PQerrorMessage(lane->conn), false);
    else if (lane->read_only)
        db_lane_read_only(lane->db);
}

/* ---- The end of a connection ---- */

static void lose_calls(struct lane *lane, const char *reason)
{
    struct call *call = lane->head;
    lane->head = NULL;
    lane->tail = &lane->head;
    lane->count = 0;
    while (call) {
        struct call *next = call->next;
        PQclear(call->result);
        call->result = NULL;
        if (call->is_greeting)
            call_destroy(call);
        else
            db_answer_later(lane->db, call, DB_LOST, false, reason);
        call = next;
    }
}

/* The FATAL that a dying server sent says more than "connection closed". */
static void describe_loss(const struct lane *lane, char *text, size_t size, const char *reason)
{
    const PGresult *last = lane->head ? lane->head->result : NULL;
    const char *primary = last ? PQresultErrorField(last, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    sqlstate_describe(text, size, primary ? primary : reason);
}

static void release(struct lane *lane, const char *reason)
{
    if (lane->resolve)
        resolve_cancel(lane->resolve);
    lane->resolve = NULL;
    (void)uv_timer_stop(&lane->timer);
    unwatch(lane);
    lose_calls(lane, reason);
    PQfinish(lane->conn);
    lane->conn = NULL;
    lane->dirty = false;
    lane->read_only = false;
    lane->empty_results = 0;
    lane->prepared_count = 0;
}

static void on_backoff_over(uv_timer_t *timer)
{
    lane_connect(timer->data);
}

/* Half to all of 100 ms, doubled for each failure: hosts that lost the same
 * server must not come back in step. */
static uint64_t backoff_ms(unsigned failures)
{
    uint64_t whole = (uint64_t)FIRST_BACKOFF_MS << (failures < 6 ? failures : 6);
    uint16_t noise = 0;
    if (whole > LIMIT_DB_RECONNECT_MS)
        whole = LIMIT_DB_RECONNECT_MS;
    if (getrandom(&noise, sizeof(noise), GRND_NONBLOCK) < 0)
        noise = UINT16_MAX / 2;
    return whole / 2 + whole / 2 * noise / UINT16_MAX;
}

void lane_drop(struct lane *lane, const char *reason, bool next_address)
{
    char text[512];
    bool was_up = lane->state == LANE_UP;
    if (lane->state == LANE_CLOSED || lane->state == LANE_WAITING)
        return;
    describe_loss(lane, text, sizeof(text), reason);
    release(lane, text);
    if (next_address)
        lane->rotation++;
    lane_set_state(lane, LANE_WAITING);
    (void)uv_timer_start(&lane->timer, on_backoff_over, backoff_ms(lane->failures++), 0);
    if (was_up)
        db_lane_lost(lane->db, lane, text);
}

/* From the loop: a local socket may be refused at once, and no callback may
 * come from inside db_open. */
void lane_start(struct lane *lane)
{
    lane_set_state(lane, LANE_WAITING);
    (void)uv_timer_start(&lane->timer, on_backoff_over, 0, 0);
}

void lane_close(struct lane *lane)
{
    release(lane, "the host closed the connection");
    lane_set_state(lane, LANE_CLOSED);
}
