/*
 * What the parts of lib/db know of struct db.
 */
#ifndef PGFLOW_DB_DB_PRIVATE_H
#define PGFLOW_DB_DB_PRIVATE_H

#include "db/call.h"
#include "db/connection.h"
#include "db/db.h"

enum db_state { DB_STATE_OPENING, DB_STATE_UP, DB_STATE_DOWN, DB_STATE_FATAL, DB_STATE_CLOSED };

/* --check's transaction: broken when its connection went, so that no later
 * call of it can run outside. */
enum db_check { DB_CHECK_NONE, DB_CHECK_OPEN, DB_CHECK_BROKEN };

struct db {
    uv_loop_t *loop;
    struct db_config config; /* strings are owned */
    enum db_state state;
    uv_timer_t open_timer;  /* connect_timeout_s */
    uv_timer_t later_timer; /* due at once while the later list is not empty */
    uv_prepare_t flusher;   /* before the loop waits: sends what is left to send */
    int handles_open;
    struct statement listen_statement;  /* its sql is owned; NULL: no LISTEN */
    struct statement control_statement; /* the same for the control channel */
    struct connection connections[LIMIT_DB_CONNECTIONS];
    int connection_count;
    enum db_check check;
    struct call_queue later;
    struct db_counts counts;
    char last_reason[512];
    void (*closed)(void *ctx);
    void *closed_ctx;
};

/* To the connection that suits it, or to the later list. Takes the call over. */
void db_submit(struct db *db, struct call *call);

/* To be answered from the loop, with this outcome. */
void db_answer_later(struct db *db, struct call *call, enum db_outcome outcome, bool permanent,
                     const char *text);

/* ---- From the connections ---- */

void db_connection_up(struct db *db, struct connection *connection);
void db_connection_lost(struct db *db, struct connection *connection, const char *reason);
/* An attempt failed; `error` is NULL when another may work. */
void db_connection_failed(struct db *db, const char *reason, const struct error *error);
void db_connection_read_only(struct db *db);
/* Of the queue: there is work. Of the control channel: somebody has something to say. */
void db_notified(struct db *db, bool work, bool control);

/* The work connection is connected. */
bool db_is_up(const struct db *db);
/* Calls that were sent or wait to be, on every connection. */
size_t db_calls_pending(const struct db *db);

#endif
