/*
 * Descriptors 0, 1 and 2 of this process.
 */
#ifndef PGFLOW_BASE_STANDARD_FDS_H
#define PGFLOW_BASE_STANDARD_FDS_H

/*
 * Opens /dev/null for each of the three that the caller of the program left closed. Otherwise the
 * next socket or file gets the number, and log lines or answers go into it. First thing in main.
 */
void standard_fds_open(void);

#endif
