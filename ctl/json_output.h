/*
 * Rows as JSON: numbers, booleans and jsonb as they are, everything else as
 * text, SQL null as null.
 */
#ifndef PGFLOW_CTL_JSON_OUTPUT_H
#define PGFLOW_CTL_JSON_OUTPUT_H

#include <stddef.h>
#include <stdio.h>

struct db_rows;

void json_print_rows(FILE *out, const struct db_rows *rows);
/* Without a newline behind it. */
void json_print_row(FILE *out, const struct db_rows *rows, size_t row);

#endif
