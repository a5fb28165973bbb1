/*
 * The seccomp filter of the box: no unix socket to anybody, no connection, no way around the
 * filter. Runners still get the pair of sockets that the pool makes for each.
 */
#ifndef PGFLOW_CTL_REPLAY_BOX_FILTER_H
#define PGFLOW_CTL_REPLAY_BOX_FILTER_H

#include "base/error.h"

#include <stdbool.h>

/* For this process and all that it starts, for good; sets no_new_privs. ERROR_CONFIG: this kernel
 * or machine has none. */
bool box_filter_install(struct error *error) MUST_CHECK;

#endif
