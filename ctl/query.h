/*
 * A question to the database, and its answer on stdout: a table for people, or
 * JSON. What most commands are made of.
 */
#ifndef PGFLOW_CTL_QUERY_H
#define PGFLOW_CTL_QUERY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct db_rows;
struct db_sync;

/* Rows, or NULL with an error whose code is the exit status: what our SQL
 * functions refuse (SQLSTATE 55000) is ERROR_ANSWER_NO, what they do not know
 * or cannot read (42704, 22023, 22P02) is ERROR_USAGE, missing rights and a
 * missing schema are ERROR_CONFIG with the remedy. */
struct db_rows *query_rows(struct db_sync *db, const char *sql, const char *const *values,
                           size_t count, struct error *error) MUST_CHECK;

/* query_no_flow, when the last query failed because the database did not know the
 * flow or alias `name` (42704). */
void query_offer_flow(struct db_sync *db, const char *name, struct error *error);

/* ERROR_USAGE that there is no such flow or alias, with the nearest. Always false. */
bool query_no_flow(struct db_sync *db, const char *name, struct error *error);

/* query_no_flow, unless there is a flow or an alias of that name. */
bool query_require_flow(struct db_sync *db, const char *name, struct error *error) MUST_CHECK;

/* False with ERROR_USAGE and the nearest name when pgflow knows no such queue. */
bool query_require_queue(struct db_sync *db, const char *name, struct error *error) MUST_CHECK;

/* Runs and prints: as JSON a list of objects, one a row. `nothing`: what to say
 * instead of an empty table. */
struct query_print {
    const char *sql;      /* columns for people */
    const char *json_sql; /* columns for programs; NULL: the same */
    const char *nothing;
    size_t flexible; /* the column that gives way when the terminal is narrow */
};
bool query_print(struct db_sync *db, bool json, const struct query_print *print,
                 const char *const *values, size_t count, struct error *error) MUST_CHECK;

#endif
