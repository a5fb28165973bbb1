/*
 * From nothing to a connection that is up: names, libpq's own steps, what a
 * server must be, session settings, LISTEN.
 */
#include "db/address.h"
#include "db/address_parts.h"
#include "db/db_private.h"
#include "db/lane.h"
#include "db/resolve.h"
#include "db/result.h"
#include "db/sqlstate.h"
#include "log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLDEST_SERVER 140000
#define EXTRA_KEYWORDS 12
#define TOLD_AGAIN_NS (60 * 1000000000ULL)

struct keywords {
    const char **names;
    const char **values;
    size_t count;
    char user_timeout[16];
};

static void add_keyword(struct keywords *list, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    list->names[list->count] = name;
    list->values[list->count] = value;
    list->count++;
}

static void add_default(struct keywords *list, const struct db_address *address, const char *name,
                        const char *value)
{
    if (!db_address_value(address, name))
        add_keyword(list, name, value);
}

/* Keepalives find a dead peer while a long statement runs, tcp_user_timeout one
 * that acknowledges nothing of what was sent; it is the deadline of a statement,
 * because a server that is busy with one may leave the next unread for as long.
 * A standby is passed over: nothing works there. */
static void fill_keywords(struct keywords *list, const struct lane *lane,
                          const struct resolved *resolved)
{
    const struct db_address *address = lane->db->config.address;
    (void)snprintf(list->user_timeout, sizeof(list->user_timeout), "%d",
                   lane->db->config.statement_deadline_ms);
    for (size_t i = 0; i < address->count; i++)
        add_keyword(list, address->keywords[i], address->values[i]);
    add_keyword(list, "host", resolved->hosts);
    add_keyword(list, "hostaddr", resolved->hostaddrs);
    add_keyword(list, "port", resolved->ports);
    add_keyword(list, "client_encoding", "UTF8");
    add_keyword(list, "fallback_application_name", lane->db->config.application_name);
    add_default(list, address, "keepalives_idle", "30");
    add_default(list, address, "keepalives_interval", "10");
    add_default(list, address, "keepalives_count", "3");
    add_default(list, address, "tcp_user_timeout", list->user_timeout);
    if (!lane->db->config.any_server)
        add_default(list, address, "target_session_attrs", "read-write");
}

static PGconn *start_libpq(const struct lane *lane, const struct resolved *resolved)
{
    size_t room = lane->db->config.address->count + EXTRA_KEYWORDS;
    struct keywords list = {
        .names = calloc(room, sizeof(char *)), .values = calloc(room, sizeof(char *)), .count = 0};
    PGconn *conn = NULL;
    if (list.names && list.values) {
        fill_keywords(&list, lane, resolved);
        conn = PQconnectStartParams(list.names, list.values, 0);
    }
    free((void *)list.names);
    free((void *)list.values);
    return conn;
}

static bool says_no_memory(const char *text)
{
    return strstr(text, "out of memory") || strstr(text, "Memory allocation failure");
}

/* Refused for good, or may another attempt work? The text of libpq before it
 * has tried any server is about the URL. */
static int judge_failure(PGconn *conn, const char *text)
{
    if (*text == '\0' || says_no_memory(text))
        return ERROR_NONE;
    char sqlstate[6];
    if (PQconnectionNeedsPassword(conn))
        return ERROR_CONFIG;
    if (sqlstate_find(text, sqlstate))
        return sqlstate_refuses_for_good(sqlstate) ? ERROR_CONFIG : ERROR_NONE;
    return strstr(text, "connection to server") ? ERROR_NONE : ERROR_CONFIG;
}

/* An outage is one line a minute, and one whenever its reason changes: a server that comes back may
 * refuse us for another one. */
static void tell_failure(struct lane *lane, const char *text)
{
    uint64_t now_ns = uv_hrtime();

    if (strcmp(lane->told, text) == 0 && now_ns - lane->told_ns < TOLD_AGAIN_NS)
        return;
    (void)snprintf(lane->told, sizeof(lane->told), "%s", text);
    lane->told_ns = now_ns;
    log_warn("db_unreachable", "cannot connect to the database, trying again",
             LOG_FIELD_TEXT("database", db_address_label(lane->db->config.address)),
             LOG_FIELD_INT("connection", lane->index), LOG_ERROR(text));
}

static void attempt_failed(struct lane *lane, const char *reason, int code, bool next_address)
{
    struct error error = {.code = ERROR_NONE};
    char text[512];
    (void)snprintf(text, sizeof(text), "%s", reason);
    bool final = code != ERROR_NONE && lane->db->state == DB_STATE_OPENING;
    if (!final)
        tell_failure(lane, text);
    if (code != ERROR_NONE)
        (void)error_set(&error, code,
                        "database %s: %s; check what --database (or PGFLOW_DATABASE, DATABASE_URL, "
                        "PG*) says",
                        db_address_label(lane->db->config.address), text);
    lane_drop(lane, text, next_address);
    db_lane_failed(lane->db, text, code != ERROR_NONE ? &error : NULL);
}

static void libpq_failed(struct lane *lane)
{
    char text[512];
    const char *message = lane->conn ? PQerrorMessage(lane->conn) : "out of memory";
    int code = lane->conn ? judge_failure(lane->conn, message) : ERROR_NONE;
    sqlstate_describe(text, sizeof(text), message);
    attempt_failed(lane, text, code, true);
}

static void on_attempt_timeout(uv_timer_t *timer)
{
    struct lane *lane = timer->data;
    attempt_failed(lane,
                   lane->state == LANE_RESOLVING    ? "the name server does not answer"
                   : lane->state == LANE_CONNECTING ? "no answer from the server in time"
                                                    : "the server accepts connections but does "
                                                      "not answer statements in time",
                   ERROR_NONE, true);
}

static uint64_t attempt_ms(const struct lane *lane)
{
    const char *given = db_address_value(lane->db->config.address, "connect_timeout");
    long seconds = given ? strtol(given, NULL, 10) : 0;
    return (uint64_t)(seconds > 0 && seconds < 3600 ? seconds : LIMIT_DB_CONNECT_ATTEMPT_S) * 1000;
}

/* libpq would print notices to stderr, past the log. */
static void hear_notice(void *ctx, const PGresult *notice)
{
    const struct db_config *config = &((struct lane *)ctx)->db->config;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *message = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
    const char *hint = PQresultErrorField(notice, PG_DIAG_MESSAGE_HINT);
    char text[LIMIT_ERROR_TEXT];
    if (!config->on_warning || !severity || strcmp(severity, "WARNING") != 0 || !message)
        return;
    (void)snprintf(text, sizeof(text), "%s%s%s", message, hint ? "\n" : "", hint ? hint : "");
    config->on_warning(config->ctx, text);
}

static void on_resolved(void *ctx, const struct resolved *resolved, const char *reason)
{
    struct lane *lane = ctx;
    lane->resolve = NULL;
    if (!resolved) {
        attempt_failed(lane, reason, ERROR_NONE, false);
        return;
    }
    lane_set_state(lane, LANE_CONNECTING);
    lane->conn = start_libpq(lane, resolved);
    if (!lane->conn || PQstatus(lane->conn) == CONNECTION_BAD) {
        libpq_failed(lane);
        return;
    }
    (void)PQsetNoticeReceiver(lane->conn, hear_notice, lane);
    /* Verbose, to learn the SQLSTATE of a refusal. */
    (void)PQsetErrorVerbosity(lane->conn, PQERRORS_VERBOSE);
    lane_watch(lane, UV_WRITABLE);
}

void lane_connect(struct lane *lane)
{
    lane_set_state(lane, LANE_RESOLVING);
    (void)uv_timer_start(&lane->timer, on_attempt_timeout, attempt_ms(lane), 0);
    lane->resolve =
        resolve_start(lane->db->loop, lane->db->config.address, lane->rotation, on_resolved, lane);
}

/* ---- Greeting ---- */

static const struct statement settings_statement = {
    .sql = "select pg_catalog.set_config('statement_timeout', $1, false),"
           " pg_catalog.set_config('lock_timeout', '0', false),"
           " pg_catalog.set_config('idle_in_transaction_session_timeout', '0', false),"
           " pg_catalog.set_config('default_transaction_isolation', 'read committed', false),"
           " pg_catalog.set_config('jit', 'off', false),"
           " pg_catalog.set_config('client_min_messages', 'warning', false)",
};
/* So that a statement whose client is gone ends by itself; not every platform
 * has it. */
static const struct statement check_client_statement = {
    .sql = "select pg_catalog.set_config('client_connection_check_interval', '5s', false)",
};
/* The claim's statements must see what was committed a moment ago. */
static const struct statement isolation_statement = {
    .sql = "select pg_catalog.current_setting('transaction_isolation')",
};

static bool says_read_committed(const PGresult *result)
{
    const char *level = PQntuples(result) == 1 ? result_text(result, 0, 0) : NULL;
    return level && strcmp(level, "read committed") == 0;
}

static void greeting_answered(struct call *call, const struct db_status *status, PGresult *result)
{
    struct lane *lane = call->ctx;
    struct db_status own = *status;
    lane->greetings_left--;
    if (call->statement == &check_client_statement)
        own.outcome = DB_OK;
    if (call->statement == &isolation_statement && own.outcome == DB_OK &&
        !says_read_committed(result)) {
        own =
            (struct db_status){.outcome = DB_ERROR,
                               .permanent = true,
                               .text = "its default_transaction_isolation is not 'read committed'; "
                                       "behind a pooler it must be: alter role ... set "
                                       "default_transaction_isolation = 'read committed'"};
    }
    if (own.outcome != DB_OK || lane->greetings_left == 0)
        lane_greeted(lane, &own);
}

static struct call *greet(struct lane *lane, const struct statement *statement)
{
    struct call *call = call_create(statement, CALL_WORK, greeting_answered, NULL, lane);
    call->is_greeting = true;
    lane->greetings_left++;
    return call;
}

static bool put_greeting(struct lane *lane, struct call *call)
{
    if (!params_ok(&call->params)) {
        call_destroy(call);
        lane_drop(lane, "out of memory", false);
        return false;
    }
    lane_put(lane, call);
    return lane->state == LANE_GREETING;
}

static bool put_settings(struct lane *lane)
{
    char timeout[32];
    /* A little sooner than our own deadline, which costs the connection. */
    int deadline = lane->db->config.statement_deadline_ms;
    (void)snprintf(timeout, sizeof(timeout), "%d", deadline - deadline / 10);
    struct call *settings = greet(lane, &settings_statement);
    params_text(&settings->params, timeout);
    return put_greeting(lane, settings) && put_greeting(lane, greet(lane, &check_client_statement));
}

static bool put_listen(struct lane *lane)
{
    const struct db *db = lane->db;
    return put_greeting(lane, greet(lane, &db->listen_statement)) &&
           (!db->control_statement.sql || put_greeting(lane, greet(lane, &db->control_statement)));
}

/* A wrong server is refused before anything is sent. Every server tells its
 * version and encoding; without memory libpq cannot keep them. */
static const char *unfit_reason(PGconn *conn, int *code)
{
    const char *encoding = PQparameterStatus(conn, "server_encoding");
    *code = encoding && PQserverVersion(conn) > 0 ? ERROR_CONFIG : ERROR_NONE;
    if (*code == ERROR_NONE)
        return "the server did not say its version and encoding";
    if (PQserverVersion(conn) < OLDEST_SERVER)
        return "PostgreSQL 14 or later is needed";
    if (strcmp(encoding, "UTF8") != 0)
        return "its encoding is not UTF8; create the database with ENCODING 'UTF8'";
    return NULL;
}

static void start_greeting(struct lane *lane)
{
    int code;
    const char *unfit = unfit_reason(lane->conn, &code);
    if (unfit) {
        attempt_failed(lane, unfit, code, true);
        return;
    }
    lane_set_state(lane, LANE_GREETING);
    lane->greetings_left = 0;
    if (PQsetnonblocking(lane->conn, 1) != 0 || PQenterPipelineMode(lane->conn) != 1) {
        libpq_failed(lane);
        return;
    }
    (void)PQsetErrorVerbosity(lane->conn, PQERRORS_DEFAULT);
    bool sent = (lane->db->config.pooled || put_settings(lane)) &&
                put_greeting(lane, greet(lane, &isolation_statement)) &&
                (!lane->listens || put_listen(lane));
    if (sent)
        lane_flush(lane);
}

void lane_greeted(struct lane *lane, const struct db_status *status)
{
    if (status->outcome != DB_OK) {
        attempt_failed(lane, status->text, status->permanent ? ERROR_CONFIG : ERROR_NONE, true);
        return;
    }
    (void)uv_timer_stop(&lane->timer);
    lane_set_state(lane, LANE_UP);
    lane->failures = 0;
    lane->told[0] = '\0';
    lane->up_count++;
    db_lane_up(lane->db, lane);
}

/* libpq may close its socket and open the next one at each step, so the watcher goes first. */
void lane_connect_step(struct lane *lane)
{
    lane_watch(lane, 0);
    switch (PQconnectPoll(lane->conn)) {
    case PGRES_POLLING_READING:
        lane_watch(lane, UV_READABLE);
        break;
    case PGRES_POLLING_WRITING:
        lane_watch(lane, UV_WRITABLE);
        break;
    case PGRES_POLLING_OK:
        start_greeting(lane);
        break;
    default:
        libpq_failed(lane);
        break;
    }
}
