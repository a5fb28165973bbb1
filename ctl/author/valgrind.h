/*
 * A runner under valgrind: the command for it, and what it found.
 */
#ifndef PGFLOW_CTL_AUTHOR_VALGRIND_H
#define PGFLOW_CTL_AUTHOR_VALGRIND_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>

enum { VALGRIND_ARGUMENTS = 12 };

/* Finished by valgrind_finish, also after a valgrind_init that failed. */
struct valgrind {
    char folder[256];   /* of its log files; "" while there is none */
    char log_file[320]; /* the option */
    const char *arguments[VALGRIND_ARGUMENTS];
};

/* Makes the folder. ERROR_CONFIG when valgrind is not on the PATH. */
bool valgrind_init(struct valgrind *valgrind, struct error *error) MUST_CHECK;

/* Appends what it found in all processes, nothing when all is well. */
void valgrind_put_findings(const struct valgrind *valgrind, struct buf *out);

/* Removes the folder. */
void valgrind_finish(struct valgrind *valgrind);

#endif
