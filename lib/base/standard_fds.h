/*
 * Descriptors 0, 1 and 2 of this process.
 */
#ifndef PGFLOW_BASE_STANDARD_FDS_H
#define PGFLOW_BASE_STANDARD_FDS_H

#include "base/error.h"

#include <stdbool.h>

/*
 * Opens /dev/null for each of the three that the caller of the program left closed. Otherwise the
 * next socket or file gets the number, and log lines or answers go into it. First thing in main.
 */
void standard_fds_open(void);

/*
 * Writes what stdout still holds, last thing in main. False, with the reason on stderr, when the
 * answer is not whole: it must not look as if it were. Who reads no further, as head(1), has got
 * what was wanted. SIGPIPE must be ignored.
 */
bool standard_output_end(const char *program) MUST_CHECK;

#endif
