/*
 * A table on stdout that fits the terminal; whole when stdout is a file or pipe.
 */
#ifndef PGFLOW_CTL_TABLE_H
#define PGFLOW_CTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct db_rows;

/* Where the cells come from. `cell` may answer NULL: empty. */
struct table {
    const void *ctx;
    size_t columns, rows;
    const char *(*name)(const void *ctx, size_t column);
    const char *(*cell)(const void *ctx, size_t row, size_t column);
    bool (*is_number)(const void *ctx, size_t column); /* stands right */
};

/* Columns are as wide as their cells; when they do not fit `width` the column
 * `flexible` is cut with "…" (to 8 columns at least); where that is not enough
 * each row becomes lines of name and value. `width` 0: no limit, no colour. */
void table_print(FILE *out, const struct table *table, size_t flexible, size_t width);

/* The same of rows from the database, on stdout, as wide as its terminal. */
void table_print_rows(const struct db_rows *rows, size_t flexible);

/* False where NO_COLOR asks for none, or the terminal knows none (TERM=dumb). */
bool table_colour(void);

/* Of the terminal at stdout; 0: it is none. */
size_t table_width(void);

#endif
