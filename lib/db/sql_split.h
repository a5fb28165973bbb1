/*
 * A file of SQL statements, one after the other.
 */
#ifndef PGFLOW_DB_SQL_SPLIT_H
#define PGFLOW_DB_SQL_SPLIT_H

#include <stdbool.h>
#include <stddef.h>

struct sql_piece {
    const char *text; /* borrowed from the file; comments before it are left out */
    size_t size;      /* without the semicolon */
    bool repeats;     /* the line "-- repeat" stood before it: until it changes no row */
};

/* The next statement from `*at` on, which moves behind it. False: there is no other. */
bool sql_split_next(const char **at, struct sql_piece *piece);

#endif
