/*
 * Text of third parties on a terminal: names in files, what handlers said, errors that
 * the database keeps. A terminal obeys control characters (C0, DEL, and C1 as UTF-8),
 * so they become blanks; broken UTF-8 becomes a question mark, and so do format
 * characters (U+202E), which turn or hide what stands beside them.
 */
#ifndef PGFLOW_CTL_PLAIN_H
#define PGFLOW_CTL_PLAIN_H

#include <stddef.h>
#include <stdio.h>

/* Columns that the text takes on one line, as the terminal counts them: two for a
 * Chinese character, none for an accent of its own. A control character is one blank. */
size_t plain_columns(const char *text);

/* What of the text fits into `columns`, on one line; `columns` becomes what is left of
 * them. Returns where the text went on. */
const char *plain_print_line(FILE *out, const char *text, size_t *columns);

/* All of it; ends of lines and tabs stay. */
void plain_print(FILE *out, const char *text);

/* The same of its first `size` bytes. */
void plain_print_part(FILE *out, const char *text, size_t size);

/* All of it on one line. */
void plain_print_one_line(FILE *out, const char *text);

/* JSON text, whose strings get escapes for what must not be shown. */
void plain_print_json(FILE *out, const char *json);

#endif
