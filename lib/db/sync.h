/*
 * PostgreSQL for tools that do one thing after the other: the same connection
 * as the host's (db.h), on a loop of its own that runs until the answer is
 * there. For pgflowctl and tests.
 */
#ifndef PGFLOW_DB_SYNC_H
#define PGFLOW_DB_SYNC_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct db_sync;
struct db_rows;

struct db_sync_config {
    const char *url;           /* NULL: PG*; see db_address_choose */
    const char *name;          /* application_name */
    int connect_timeout_s;     /* 0: LIMIT_DB_CONNECT_ATTEMPT_S */
    int statement_deadline_ms; /* 0: LIMIT_DB_DEADLINE_MS */
    const char *listen_queue;  /* for db_sync_wait; NULL: none */
    /* What the server warns of, with its hint on a line of its own; borrowed. NULL: dropped. */
    void (*on_warning)(const char *text);
};

/* Connected; NULL: ERROR_USAGE, ERROR_UNAVAILABLE or ERROR_CONFIG. */
struct db_sync *db_sync_open(const struct db_sync_config *config, struct error *error) MUST_CHECK;
void db_sync_close(struct db_sync *sync); /* takes NULL */

/* host, database and user, for messages. */
const char *db_sync_label(const struct db_sync *sync);

/*
 * One statement with text parameters (NULL: SQL null), a transaction of its
 * own. NULL: the error has the server's message, detail and hint; its code is
 * ERROR_UNAVAILABLE for a lost connection, ERROR_CONFIG else.
 */
struct db_rows *db_sync_query(struct db_sync *sync, const char *sql, const char *const *values,
                              size_t count, struct error *error) MUST_CHECK;

/* The SQLSTATE of the last failed query, "" when it was no server error. */
const char *db_sync_sqlstate(const struct db_sync *sync);

/* Until a notification or `ms` passed. False when the connection was lost and
 * did not come back in that time; it may come back later. */
bool db_sync_wait(struct db_sync *sync, int ms);

/* The same; true when a notification came. */
bool db_sync_hears(struct db_sync *sync, int ms);

/* Of the server process, as the other side of the connection named it when it was
 * opened: a pooler invents one. 0: not connected. */
int db_sync_backend_pid(const struct db_sync *sync);

/* Rows are owned by the caller; cells are borrowed from them. */
size_t db_rows_count(const struct db_rows *rows);
size_t db_rows_columns(const struct db_rows *rows);
const char *db_rows_name(const struct db_rows *rows, size_t column);
/* NULL for SQL null. */
const char *db_rows_text(const struct db_rows *rows, size_t row, size_t column);
/* The column's values are numbers (for alignment and for bare JSON). */
bool db_rows_is_number(const struct db_rows *rows, size_t column);
bool db_rows_is_bool(const struct db_rows *rows, size_t column);
bool db_rows_is_time(const struct db_rows *rows, size_t column); /* timestamptz */
bool db_rows_is_json(const struct db_rows *rows, size_t column);
void db_rows_destroy(struct db_rows *rows); /* takes NULL */

#endif
