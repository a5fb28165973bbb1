/*
 * --watch: the answer again and again, until the program is interrupted.
 */
#ifndef PGFLOW_CTL_WATCH_H
#define PGFLOW_CTL_WATCH_H

#include "base/error.h"

#include <stddef.h>

struct invocation;
struct query_print;

/* query_print, once; with --watch every two seconds: on a terminal in the same
 * place, else one answer below the other. A lost connection is waited for.
 * DONE, or FAILED with the error: the command's own result. */
int watch_print(struct invocation *invocation, const struct query_print *print,
                const char *const *values, size_t count, struct error *error) MUST_CHECK;

#endif
