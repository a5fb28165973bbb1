/*
 * Reading typed values out of a PGresult. Private to lib/db.
 */
#ifndef PGFLOW_DB_RESULT_H
#define PGFLOW_DB_RESULT_H

#include "db/calls.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Columns by name, so that later versions of the SQL may add some. False when
 * one is missing. */
bool result_columns(const PGresult *result, const char *const *names, int *columns,
                    size_t count) MUST_CHECK;

/* NULL for SQL null. Borrowed from the result. */
const char *result_text(const PGresult *result, int row, int column);
/* `none` for SQL null. */
int result_int(const PGresult *result, int row, int column, int none);
int64_t result_int64(const PGresult *result, int row, int column, int64_t none);
/* False for SQL null. */
bool result_bool(const PGresult *result, int row, int column);

/* The elements of a text[] or uuid[] column; SQL null and null elements are left
 * out. One allocation, to be freed with result_texts_free. False without
 * memory. */
bool result_texts(const PGresult *result, int row, int column, struct db_texts *texts) MUST_CHECK;
void result_texts_free(struct db_texts *texts);

/* The index of `word` in `words`, or -1. */
int result_word(const char *word, const char *const *words, size_t count);

/* DB_ERROR, permanent: the answer is not in the form this host knows. */
struct db_status result_mismatch(const struct db_status *status);

/* DB_ERROR, permanent, 53200: the answer came, and there is no memory to read it. */
struct db_status result_no_memory(const struct db_status *status);

#endif
