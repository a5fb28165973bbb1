/*
 * Whether a file may be believed that says what this program runs, or with which database: nobody
 * but root and the program's own user can change it, or put another in its folder. One rule for
 * modules, configuration and service files.
 */
#ifndef PGFLOW_BASE_FILE_TRUST_H
#define PGFLOW_BASE_FILE_TRUST_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/stat.h>

/* `path` is its real one, without links. ERROR_CONFIG names file or folder, owner or mode, and what
 * to do; `remedy` is put behind that. What lies on a file system that is mounted read-only cannot
 * be written, whatever its mode. */
bool file_trust_check(const char *path, const struct stat *about, const char *remedy,
                      struct error *error) MUST_CHECK;

/* The same of a configuration that is open: ERROR_USAGE. A terminal, a device or a pipe without a
 * name has no folder. */
bool file_trust_check_open(int fd, struct error *error) MUST_CHECK;

#endif
