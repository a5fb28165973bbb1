/*
 * The host's way to PostgreSQL: some connections on one libuv loop, libpq
 * without blocking, in pipeline mode. Everything runs on the loop's thread;
 * every callback comes from the loop, never from inside a call of this
 * interface, and none comes after db_close's `closed`.
 *
 * Data flow. A call (calls.h) becomes one statement with its parameters and a
 * Sync behind it, so it is a transaction of its own; it goes to the end of a
 * connection's pipeline and waits for no answer before it: finish and claim put there
 * one after the other cost one round trip. Results come back in order; the
 * first unanswered call has the deadline, and past it the connection is
 * dropped, because a blocking cancel would stop the loop.
 *
 * Connections. One connection: it does everything. Two: the first is the control
 * connection (heartbeat, LISTEN, maintain, registration, claims beside results), the
 * second the work connection (claims, results, releases). More: the third and further ones take the
 * control calls that may take long (maintain, ensure_deployment, offers). A
 * control call whose connection is down takes the work connection, so that losing
 * one connection silences no heartbeat.
 *
 * States of the whole, for the owner (on_up, on_down, on_fatal):
 *
 *     state      event                                     next
 *     opening    every connection connected and greeted          up (on_up)
 *     opening    connect_timeout_s passed, or refused       fatal
 *                for good (password, unknown database, not
 *                UTF-8, PostgreSQL < 14)
 *     up         work connection lost, or 25006 on any connection      down (on_down)
 *     up         another connection lost                         up; logged, it comes back by
 * itself down       work connection connected again                 up (on_up) any        db_close
 * closed
 *
 * Once up, connecting is tried again for ever (backoff with jitter, at most
 * LIMIT_DB_RECONNECT_MS): a host never exits for a restart of PostgreSQL.
 *
 * LISTEN: after each (re)connection of the connection that listens on_listening is
 * called, then on_notify and on_control once, because what was sent in between
 * is lost.
 */
#ifndef PGFLOW_DB_DB_H
#define PGFLOW_DB_DB_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct db;
struct db_address;

struct db_config {
    const struct db_address *address; /* borrowed until closed */
    const char *application_name;     /* "pgflow-host/<queue>"; copied */
    const char *listen_queue;         /* canonical queue name, or NULL; copied */
    const char *control_channel;      /* with listen_queue: one more channel, or NULL; copied */
    int connections;                  /* 1 to LIMIT_DB_CONNECTIONS */
    bool pooled;           /* behind a transaction pooler: no LISTEN, named statements, settings */
    bool any_server;       /* a standby will do: for tools that may only read */
    int connect_timeout_s; /* for the first on_up; 0: for ever */
    int statement_deadline_ms; /* 0: LIMIT_DB_DEADLINE_MS */

    /* All required but those of LISTEN and on_warning. */
    void *ctx;
    void (*on_up)(void *ctx);
    void (*on_down)(void *ctx, const char *reason);
    void (*on_notify)(void *ctx);
    void (*on_control)(void *ctx); /* may be NULL, as the next one */
    /* The session that listens is there, or lost: what db_begin_idle was told goes with it. */
    void (*on_listening)(void *ctx, bool listening);
    /* The server warns: message, newline, hint if there is one; borrowed. From
     * the loop, at any time. */
    void (*on_warning)(void *ctx, const char *text);
    /* Could not come up, ever: code 69 or 78 with the remedy. Nothing is tried
     * any more; the owner calls db_close. */
    void (*on_fatal)(void *ctx, const struct error *error);
};

/* Starts connecting; on_up or on_fatal tells. NULL: ERROR_USAGE for a config
 * out of range, or ERROR_INTERNAL. */
struct db *db_open(uv_loop_t *loop, const struct db_config *config, struct error *error) MUST_CHECK;

/* Drops the connections at once. Every call that waits is answered DB_LOST or
 * DB_UNSENT from the loop, then `closed` (may be NULL) is called once and `db`
 * is gone; make no new calls. To end in order, wait for your last calls first.
 * A name lookup that hangs cannot be stopped: it keeps the loop and, through
 * libuv's threads, exit(); a program that must end in time leaves by _exit(). */
void db_close(struct db *db, void (*closed)(void *ctx), void *ctx);

/* "15.20": of the libpq that is loaded. */
void db_client_version(char *text, size_t size);

struct db_counts {
    uint64_t reconnects; /* connections made after the first of each connection */
    uint64_t calls;      /* answered */
    uint64_t lost;       /* answered DB_LOST */
};
void db_count(const struct db *db, struct db_counts *counts);

/*
 * How a call ended. Each call of calls.h calls its callback exactly once.
 *
 * DB_OK      the result is there, committed.
 *
 * DB_ERROR   PostgreSQL refused it; nothing happened. `permanent`: trying again
 *            cannot help, whatever the caller does (every SQLSTATE but classes
 *            08, 25006, 40, 53, 55, 57, 58). Serialization failures and
 *            deadlocks (40001, 40P01) were already tried again, three times in
 *            all, "cached plan" errors once.
 *
 * DB_LOST    sent, and the connection went before the answer: it may have
 *            happened or not.
 *
 * DB_UNSENT  never sent (no connection, or it does not fit a limit: then
 *            `permanent`): it did not happen.
 */
enum db_outcome { DB_OK, DB_ERROR, DB_LOST, DB_UNSENT };

struct db_status { /* valid during the callback */
    enum db_outcome outcome;
    bool permanent;
    char sqlstate[6];    /* "" unless DB_ERROR */
    const char *text;    /* "" when DB_OK; the message with its hint, never parameters */
    const char *detail;  /* NULL, or what one of our own SQL functions adds: lines of names */
    uint64_t elapsed_ns; /* from sending to the last byte of the answer */
};

/*
 * The form for --check: from db_check_begin to db_check_end every call goes to
 * the work connection, inside one transaction that is rolled back. Nothing is tried
 * again there; after the first DB_ERROR every later call is refused (25P02).
 * When the connection is lost, every later call until db_check_end is DB_UNSENT,
 * permanent, so that nothing can be committed by mistake. The callback of
 * db_check_end comes after the rollback.
 */
typedef void (*db_done)(void *ctx, const struct db_status *status);
void db_check_begin(struct db *db, db_done done, void *ctx);
void db_check_end(struct db *db, db_done done, void *ctx);

#endif
