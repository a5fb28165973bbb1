/*
 * One connection and its pipeline: connects, greets, sends calls, reads
 * answers, and starts again when it is lost. Private to lib/db; the owner is
 * struct db, which hears of it through db_connection_* in db_private.h.
 *
 *     state       event                                   next
 *     closed      connection_start                              waiting
 *     resolving   addresses known                         connecting
 *     connecting  libpq is done                           greeting
 *     greeting    settings made, LISTEN answered          up
 *     up          calls go out, answers come in           up
 *     any of the four  failure, timeout, connection_drop        waiting
 *     waiting     backoff over                            resolving
 *     any         connection_close                              closed
 */
#ifndef PGFLOW_DB_CONNECTION_H
#define PGFLOW_DB_CONNECTION_H

#include "db/call.h"
#include "db/db.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <uv.h>

enum connection_state {
    CONNECTION_CLOSED,
    CONNECTION_RESOLVING,
    CONNECTION_CONNECTING,
    CONNECTION_GREETING,
    CONNECTION_UP,
    CONNECTION_WAITING,
};

#define CONNECTION_STATEMENTS 32

struct resolve;

struct connection {
    struct db *db;
    int index;
    bool listens;
    enum connection_state state;
    uv_timer_t timer; /* what the state waits for: attempt, deadline, backoff */
    uv_poll_t *poll;  /* on the socket of conn; replaced when that changes */
    int poll_events;
    struct resolve *resolve;
    PGconn *conn;
    bool dirty; /* calls were put since the last flush */

    struct call_queue calls; /* sent, in order; the first is the next to be answered */
    size_t count;
    int greetings_left;
    bool read_only; /* answered 25006: goes when its results are read */
    int empty_results;

    const struct statement *prepared[CONNECTION_STATEMENTS];
    int prepared_count;
    unsigned generation; /* in the names of prepared statements */

    unsigned rotation; /* which address the next attempt begins with */
    unsigned failures; /* attempts since it was up */
    char logged[512];  /* why they failed, as last logged */
    uint64_t logged_ns;
    bool was_up;
    uint64_t up_count;
};

void connection_init(struct connection *connection, struct db *db, int index, bool listens);
void connection_start(struct connection *connection);

/* The end: nothing is tried any more; calls go to the later list. The timer's
 * handle is closed by the owner. */
void connection_close(struct connection *connection);

/* Loses the connection, if there is one, and begins anew after the backoff;
 * calls go to the later list as DB_LOST. `next_address`: do not begin with the
 * same one. */
void connection_drop(struct connection *connection, const char *reason, bool next_address);

/* Puts the call at the end of the pipeline (state up, or greeting); it leaves
 * with the next connection_flush. */
void connection_put(struct connection *connection, struct call *call);
void connection_flush(struct connection *connection);

/* ---- connection.c and connection_open.c to each other ---- */

void connection_set_state(struct connection *connection, enum connection_state state);
/* What the socket shall be watched for; 0: nothing, and the handle goes. */
void connection_watch(struct connection *connection, int events);
/* From resolving on. */
void connection_open(struct connection *connection);
/* The socket or the attempt's timer, while connecting. */
void connection_open_step(struct connection *connection);

#endif
