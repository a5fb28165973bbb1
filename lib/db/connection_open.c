/*
 * From nothing to a connection that is up: names, libpq's own steps, what a
 * server must be, session settings, LISTEN.
 */
#include "base/clock.h"
#include "db/address.h"
#include "db/address_parts.h"
#include "db/connection.h"
#include "db/connection_remedy.h"
#include "db/db_private.h"
#include "db/resolve.h"
#include "db/result.h"
#include "db/sqlstate.h"
#include "log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLDEST_SERVER 140000
#define EXTRA_KEYWORDS 12
#define LOGGED_AGAIN_NS (60 * NS_PER_S)

struct keywords {
    const char **names;
    const char **values;
    size_t count;
    char user_timeout[16];
};

static void add_keyword(struct keywords *list, const char *name, const char *value)
{
    if (value == NULL || !*value)
        return;
    list->names[list->count] = name;
    list->values[list->count] = value;
    list->count++;
}

static void add_default(struct keywords *list, const struct db_address *address, const char *name,
                        const char *value)
{
    if (db_address_value(address, name) == NULL)
        add_keyword(list, name, value);
}

/* Keepalives find a dead peer while a long statement runs, tcp_user_timeout one
 * that acknowledges nothing of what was sent; it is the deadline of a statement,
 * because a server that is busy with one may leave the next unread for as long.
 * A standby is passed over: nothing works there. */
static void fill_keywords(struct keywords *list, const struct connection *connection,
                          const struct resolved *resolved)
{
    const struct db_address *address = connection->db->config.address;
    (void)snprintf(list->user_timeout, sizeof list->user_timeout, "%d",
                   connection->db->config.statement_deadline_ms);
    for (size_t i = 0; i < address->count; i++)
        add_keyword(list, address->keywords[i], address->values[i]);
    add_keyword(list, "host", resolved->hosts);
    add_keyword(list, "hostaddr", resolved->hostaddrs);
    add_keyword(list, "port", resolved->ports);
    add_keyword(list, "client_encoding", "UTF8");
    add_keyword(list, "fallback_application_name", connection->db->config.application_name);
    add_default(list, address, "keepalives_idle", "30");
    add_default(list, address, "keepalives_interval", "10");
    add_default(list, address, "keepalives_count", "3");
    add_default(list, address, "tcp_user_timeout", list->user_timeout);
    if (!connection->db->config.any_server)
        add_default(list, address, "target_session_attrs", "read-write");
}

static PGconn *start_libpq(const struct connection *connection, const struct resolved *resolved)
{
    size_t room = connection->db->config.address->count + EXTRA_KEYWORDS;
    struct keywords list = {
        .names = calloc(room, sizeof(char *)), .values = calloc(room, sizeof(char *)), .count = 0};
    PGconn *conn = NULL;
    if (list.names != NULL && list.values != NULL) {
        fill_keywords(&list, connection, resolved);
        conn = PQconnectStartParams(list.names, list.values, 0);
    }
    free((void *)list.names);
    free((void *)list.values);
    return conn;
}

static bool says_no_memory(const char *text)
{
    return strstr(text, "out of memory") != NULL ||
           strstr(text, "Memory allocation failure") != NULL;
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
    return strstr(text, "connection to server") != NULL ? ERROR_NONE : ERROR_CONFIG;
}

/* An outage is one line a minute, and one whenever its reason changes: a server that comes back may
 * refuse us for another one. */
static void tell_failure(struct connection *connection, const char *text)
{
    uint64_t now_ns = uv_hrtime();

    if (strcmp(connection->logged, text) == 0 && now_ns - connection->logged_ns < LOGGED_AGAIN_NS)
        return;
    (void)snprintf(connection->logged, sizeof connection->logged, "%s", text);
    connection->logged_ns = now_ns;
    log_warn("db_unreachable", "cannot connect to the database, trying again",
             LOG_FIELD_TEXT("database", db_address_label(connection->db->config.address)),
             LOG_FIELD_INT("connection", connection->index), LOG_ERROR(text),
             LOG_FIELD_TEXT("remedy", connection_remedy(text)));
}

static void attempt_failed(struct connection *connection, const char *reason, int code,
                           bool next_address)
{
    struct error error = {.code = ERROR_NONE};
    char text[512];
    (void)snprintf(text, sizeof text, "%s", reason);
    bool final = code != ERROR_NONE && connection->db->state == DB_STATE_OPENING;
    if (!final)
        tell_failure(connection, text);
    const char *remedy = connection_remedy(text);
    if (code != ERROR_NONE)
        (void)error_set(&error, code, "database %s: %s; %s",
                        db_address_label(connection->db->config.address), text,
                        remedy != NULL
                            ? remedy
                            : "check what --database (or PGFLOW_DATABASE, DATABASE_URL, PG*) "
                              "says");
    connection_drop(connection, text, next_address);
    db_connection_failed(connection->db, text, code != ERROR_NONE ? &error : NULL);
}

static void libpq_failed(struct connection *connection)
{
    char text[512];
    const char *message =
        connection->conn != NULL ? PQerrorMessage(connection->conn) : "out of memory";
    int code = connection->conn != NULL ? judge_failure(connection->conn, message) : ERROR_NONE;
    sqlstate_describe(text, sizeof text, message);
    attempt_failed(connection, text, code, true);
}

static void on_attempt_timeout(uv_timer_t *timer)
{
    struct connection *connection = timer->data;
    attempt_failed(connection,
                   connection->state == CONNECTION_RESOLVING ? "the name server does not answer"
                   : connection->state == CONNECTION_CONNECTING
                       ? "no answer from the server in time"
                       : "the server accepts connections but does "
                         "not answer statements in time",
                   ERROR_NONE, true);
}

static uint64_t attempt_ms(const struct connection *connection)
{
    const char *given = db_address_value(connection->db->config.address, "connect_timeout");
    long seconds = given != NULL ? strtol(given, NULL, 10) : 0;
    return (uint64_t)(seconds > 0 && seconds < 3600 ? seconds : LIMIT_DB_CONNECT_ATTEMPT_S) * 1000;
}

/* libpq would print notices to stderr, past the log. */
static void hear_notice(void *ctx, const PGresult *notice)
{
    const struct db_config *config = &((struct connection *)ctx)->db->config;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *message = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
    const char *hint = PQresultErrorField(notice, PG_DIAG_MESSAGE_HINT);
    char text[LIMIT_ERROR_TEXT];
    if (config->on_warning == NULL || severity == NULL || strcmp(severity, "WARNING") != 0 ||
        message == NULL)
        return;
    (void)snprintf(text, sizeof text, "%s%s%s", message, hint != NULL ? "\n" : "",
                   hint != NULL ? hint : "");
    config->on_warning(config->ctx, text);
}

static void on_resolved(void *ctx, const struct resolved *resolved, const char *reason)
{
    struct connection *connection = ctx;
    connection->resolve = NULL;
    if (resolved == NULL) {
        attempt_failed(connection, reason, ERROR_NONE, false);
        return;
    }
    connection_set_state(connection, CONNECTION_CONNECTING);
    connection->conn = start_libpq(connection, resolved);
    if (connection->conn == NULL || PQstatus(connection->conn) == CONNECTION_BAD) {
        libpq_failed(connection);
        return;
    }
    (void)PQsetNoticeReceiver(connection->conn, hear_notice, connection);
    /* Verbose, to learn the SQLSTATE of a refusal. */
    (void)PQsetErrorVerbosity(connection->conn, PQERRORS_VERBOSE);
    connection_watch(connection, UV_WRITABLE);
}

void connection_open(struct connection *connection)
{
    connection_set_state(connection, CONNECTION_RESOLVING);
    (void)uv_timer_start(&connection->timer, on_attempt_timeout, attempt_ms(connection), 0);
    connection->resolve = resolve_start(connection->db->loop, connection->db->config.address,
                                        connection->rotation, on_resolved, connection);
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
    return level != NULL && strcmp(level, "read committed") == 0;
}

/* After the last greeting was answered, or one was refused. */
static void greeted(struct connection *connection, const struct db_status *status)
{
    if (status->outcome != DB_OK) {
        attempt_failed(connection, status->text, status->permanent ? ERROR_CONFIG : ERROR_NONE,
                       true);
        return;
    }
    (void)uv_timer_stop(&connection->timer);
    connection_set_state(connection, CONNECTION_UP);
    connection->failures = 0;
    connection->logged[0] = '\0';
    connection->up_count++;
    db_connection_up(connection->db, connection);
}

static void greeting_answered(struct call *call, const struct db_status *status, PGresult *result)
{
    struct connection *connection = call->ctx;
    struct db_status own = *status;
    connection->greetings_left--;
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
    if (own.outcome != DB_OK || connection->greetings_left == 0)
        greeted(connection, &own);
}

static struct call *greet(struct connection *connection, const struct statement *statement)
{
    struct call *call = call_create(statement, CALL_WORK, greeting_answered, NULL, connection);
    call->is_greeting = true;
    connection->greetings_left++;
    return call;
}

static bool put_greeting(struct connection *connection, struct call *call)
{
    if (!params_ok(&call->params)) {
        call_destroy(call);
        connection_drop(connection, "out of memory", false);
        return false;
    }
    connection_put(connection, call);
    return connection->state == CONNECTION_GREETING;
}

static bool put_settings(struct connection *connection)
{
    char timeout[32];
    /* A little sooner than our own deadline, which costs the connection. */
    int deadline = connection->db->config.statement_deadline_ms;
    (void)snprintf(timeout, sizeof timeout, "%d", deadline - deadline / 10);
    struct call *settings = greet(connection, &settings_statement);
    params_text(&settings->params, timeout);
    return put_greeting(connection, settings) &&
           put_greeting(connection, greet(connection, &check_client_statement));
}

static bool put_listen(struct connection *connection)
{
    const struct db *db = connection->db;
    return put_greeting(connection, greet(connection, &db->listen_statement)) &&
           (db->control_statement.sql == NULL ||
            put_greeting(connection, greet(connection, &db->control_statement)));
}

/* A wrong server is refused before anything is sent. Every server tells its
 * version and encoding; without memory libpq cannot keep them. */
static const char *unfit_reason(PGconn *conn, int *code)
{
    const char *encoding = PQparameterStatus(conn, "server_encoding");
    *code = encoding != NULL && PQserverVersion(conn) > 0 ? ERROR_CONFIG : ERROR_NONE;
    if (*code == ERROR_NONE)
        return "the server did not say its version and encoding";
    if (PQserverVersion(conn) < OLDEST_SERVER)
        return "PostgreSQL 14 or later is needed";
    if (strcmp(encoding, "UTF8") != 0)
        return "its encoding is not UTF8; create the database with ENCODING 'UTF8'";
    return NULL;
}

static void start_greeting(struct connection *connection)
{
    int code;
    const char *unfit = unfit_reason(connection->conn, &code);
    if (unfit != NULL) {
        attempt_failed(connection, unfit, code, true);
        return;
    }
    connection_set_state(connection, CONNECTION_GREETING);
    connection->greetings_left = 0;
    if (PQsetnonblocking(connection->conn, 1) != 0 || PQenterPipelineMode(connection->conn) != 1) {
        libpq_failed(connection);
        return;
    }
    (void)PQsetErrorVerbosity(connection->conn, PQERRORS_DEFAULT);
    bool sent = (connection->db->config.pooled || put_settings(connection)) &&
                put_greeting(connection, greet(connection, &isolation_statement)) &&
                (!connection->listens || put_listen(connection));
    if (sent)
        connection_flush(connection);
}

/* libpq may close its socket and open the next one at each step, so the watcher goes first. */
void connection_open_step(struct connection *connection)
{
    connection_watch(connection, 0);
    switch (PQconnectPoll(connection->conn)) {
    case PGRES_POLLING_READING:
        connection_watch(connection, UV_READABLE);
        break;
    case PGRES_POLLING_WRITING:
        connection_watch(connection, UV_WRITABLE);
        break;
    case PGRES_POLLING_OK:
        start_greeting(connection);
        break;
    default:
        libpq_failed(connection);
        break;
    }
}
