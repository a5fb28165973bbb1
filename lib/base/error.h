/*
 * Errors are returned, with context, and shown once: at the top, by main().
 * A function that can fail takes `struct error *` last and returns false; it
 * says what was wrong, with the value, and how to put it right. A credential in
 * it is hidden (secrets.h).
 *
 *     if (fd < 0)
 *         return error_set(error, ERROR_CONFIG, "cannot open '%s': %s", path, strerror(errno));
 *     if (!read_module(path, error))
 *         return error_wrap(error, "--plugin %s", path);
 */
#ifndef PGFLOW_BASE_ERROR_H
#define PGFLOW_BASE_ERROR_H

#include "base/limits.h"

#include <stdbool.h>

/* The result must be looked at. */
#define MUST_CHECK __attribute__((warn_unused_result))
/* printf-like: the format is argument f, its values start at argument a. */
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

/* The codes are the exit codes. */
enum error_code {
    ERROR_NONE = 0,
    ERROR_ANSWER_NO = 1,    /* pgflowctl: the answer is no */
    ERROR_USAGE = 64,       /* the command line, environment or config file */
    ERROR_UNAVAILABLE = 69, /* the database: refused, unreachable, starting up */
    ERROR_INTERNAL = 70,    /* ours: out of memory, a system call that never fails */
    ERROR_CONFIG = 78,      /* modules, routes, coverage, schema, authentication */
};

struct error {
    int code; /* enum error_code */
    char text[LIMIT_ERROR_TEXT];
};

/* Fills the error, cut at a character border when it is too long; `error` may
 * be NULL. The values may point into error->text. Always false, so that
 * `return error_set(...)` reads well. */
bool error_set(struct error *error, int code, const char *format, ...) PRINTF_LIKE(3, 4);

/* Puts context before the text: "<context>: <text>"; keeps the code. Always
 * false. */
bool error_wrap(struct error *error, const char *format, ...) PRINTF_LIKE(2, 3);

/* ERROR_INTERNAL, "out of memory". Always false. */
bool error_out_of_memory(struct error *error);

void error_clear(struct error *error);

#endif
