/*
 * One connection and its pipeline: connects, greets, sends calls, reads
 * answers, and starts again when it is lost. Private to lib/db; the owner is
 * struct db, which hears of it through db_lane_* in db_private.h.
 *
 *     state       event                                   next
 *     closed      lane_start                              waiting
 *     resolving   addresses known                         connecting
 *     connecting  libpq is done                           greeting
 *     greeting    settings made, LISTEN answered          up
 *     up          calls go out, answers come in           up
 *     any of the four  failure, timeout, lane_drop        waiting
 *     waiting     backoff over                            resolving
 *     any         lane_close                              closed
 */
#ifndef PGFLOW_DB_LANE_H
#define PGFLOW_DB_LANE_H

#include "db/call.h"
#include "db/db.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <uv.h>

enum lane_state {
    LANE_CLOSED,
    LANE_RESOLVING,
    LANE_CONNECTING,
    LANE_GREETING,
    LANE_UP,
    LANE_WAITING,
};

#define LANE_STATEMENTS 32

struct resolve;

struct lane {
    struct db *db;
    int index;
    bool listens;
    enum lane_state state;
    uv_timer_t timer; /* what the state waits for: attempt, deadline, backoff */
    uv_poll_t *poll;  /* on the socket of conn; replaced when that changes */
    int poll_events;
    struct resolve *resolve;
    PGconn *conn;
    bool dirty; /* calls were put since the last flush */

    struct call *head; /* sent, in order; the head is the next to be answered */
    struct call **tail;
    size_t count;
    int greetings_left;
    bool read_only; /* answered 25006: goes when its results are read */
    int empty_results;

    const struct statement *prepared[LANE_STATEMENTS];
    int prepared_count;
    unsigned generation; /* in the names of prepared statements */

    unsigned rotation; /* which address the next attempt begins with */
    unsigned failures; /* attempts since it was up */
    char told[512];    /* why they failed, as last logged */
    uint64_t told_ns;
    bool was_up;
    uint64_t up_count;
};

void lane_init(struct lane *lane, struct db *db, int index, bool listens);
void lane_start(struct lane *lane);

/* The end: nothing is tried any more; calls go to the later list. The timer's
 * handle is closed by the owner. */
void lane_close(struct lane *lane);

/* Loses the connection, if there is one, and begins anew after the backoff;
 * calls go to the later list as DB_LOST. `next_address`: do not begin with the
 * same one. */
void lane_drop(struct lane *lane, const char *reason, bool next_address);

/* Puts the call at the end of the pipeline (state up, or greeting); it leaves
 * with the next lane_flush. */
void lane_put(struct lane *lane, struct call *call);
void lane_flush(struct lane *lane);

/* ---- lane.c and lane_connect.c to each other ---- */

void lane_set_state(struct lane *lane, enum lane_state state);
/* What the socket shall be watched for; 0: nothing, and the handle goes. */
void lane_watch(struct lane *lane, int events);
/* From resolving on. */
void lane_connect(struct lane *lane);
/* The socket or the attempt's timer, while connecting. */
void lane_connect_step(struct lane *lane);
/* After the last greeting was answered, or one was refused. */
void lane_greeted(struct lane *lane, const struct db_status *status);

#endif
