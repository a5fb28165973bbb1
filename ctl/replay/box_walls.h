/*
 * The walls of the box: namespaces of its own for users, mounts, network, processes and IPC; every
 * mount read-only; /dev, /tmp, /run and /var/run of its own; no capability; the filter.
 *
 * Data flow: box_walls_leave() is called in a forked process. It leaves the namespaces of its
 * caller, so that the process that it forks next is the first of the new ones; that one calls
 * box_walls_close(), with the files that have to stay within sight.
 */
#ifndef PGFLOW_CTL_REPLAY_BOX_WALLS_H
#define PGFLOW_CTL_REPLAY_BOX_WALLS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* ERROR_CONFIG: this machine gives no namespaces to this user. */
bool box_walls_leave(struct error *error) MUST_CHECK;

/* `kept`: absolute paths whose folders stay visible, read-only, where /tmp or another of the
 * private folders would hide them. */
bool box_walls_close(char *const *kept, size_t count, struct error *error) MUST_CHECK;

#endif
