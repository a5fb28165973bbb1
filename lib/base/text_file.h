/*
 * Reading a whole file that a user names, into a buffer whose maximum is the limit: a
 * device or a pipe without an end is given up there.
 */
#ifndef PGFLOW_BASE_TEXT_FILE_H
#define PGFLOW_BASE_TEXT_FILE_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>

/* ERROR_USAGE names the file and the reason: it cannot be opened or read, or is longer
 * than the buffer may be. */
bool text_file_read(const char *path, struct buf *text, struct error *error) MUST_CHECK;

/* The same of a file that is believed: refused when others can change it (file_trust.h). */
bool text_file_read_trusted(const char *path, struct buf *text, struct error *error) MUST_CHECK;

/* The same of an open stream, which is called `name` in errors. */
bool text_file_read_stream(FILE *file, const char *name, struct buf *text,
                           struct error *error) MUST_CHECK;

#endif
