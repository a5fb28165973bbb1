/*
 * One statement on its way: parameters, answer, whom to tell. Private to
 * lib/db.
 *
 *     made by calls_*.c  ->  db_submit  ->  a connection's pipeline  ->  answered
 *                                \-> later list (unsent, lost)  ->  answered
 */
#ifndef PGFLOW_DB_CALL_H
#define PGFLOW_DB_CALL_H

#include "db/db.h"
#include "db/params.h"

#include <libpq-fe.h>
#include <sys/queue.h>

struct call;

struct statement {
    const char *name; /* of the prepared statement; NULL: never prepared */
    const char *sql;
};

enum call_connection {
    CALL_WORK,    /* claims, results, releases */
    CALL_CONTROL, /* short and urgent: heartbeat; claims of short tasks */
    CALL_SIDE,    /* may take long: maintain, deployments */
    CALL_LISTEN,  /* about the session that listens: on its connection or not at all */
};

/* Decodes and calls call->done. `result` is NULL unless the status is DB_OK;
 * the caller clears it and frees the call. */
typedef void (*call_answer)(struct call *call, const struct db_status *status, PGresult *result);

/* The callback of the caller, cast back by the call_answer of its kind. */
typedef void (*call_done)(void);

struct call {
    STAILQ_ENTRY(call) link;
    const struct statement *statement;
    struct params params;
    enum call_connection connection;
    call_answer answer;
    call_done done;
    void *ctx;
    size_t expected; /* items that the answer must name */

    /* Of the current sending. */
    int sendings;
    bool is_greeting;   /* sent before the connection is up */
    bool retry_never;   /* inside --check's transaction */
    bool unnamed;       /* a stale statement was met */
    bool prepare_ahead; /* the answer to a Prepare comes first */
    bool is_named;
    uint64_t sent_ns;
    PGresult *result; /* an error stays, whatever comes behind it */

    /* While on the later list. */
    enum db_outcome outcome;
    bool permanent;
    char text[512];
};

STAILQ_HEAD(call_queue, call);

/* Never NULL: without two KiB of memory nobody could be told, so it ends the
 * process; every task is durable. Payloads that find no memory are answered
 * DB_UNSENT. */
struct call *call_create(const struct statement *statement, enum call_connection connection,
                         call_answer answer, call_done done, void *ctx);
void call_destroy(struct call *call);

/* Sends statement and parameters into the pipeline, without Sync. */
bool call_send(struct call *call, PGconn *conn, bool is_prepared, const char *prepared_name);

/* One PGresult of the call; takes it over. */
void call_take_result(struct call *call, PGresult *result);

/* Answers from call->result (a call whose Sync came). */
void call_answer_result(struct call *call);

/* Answers from outcome and text (a call on the later list). */
void call_answer_later(struct call *call);

/* "" when the call's result is no error. */
const char *call_sqlstate(const struct call *call);

#endif
