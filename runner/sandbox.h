/*
 * What a runner gives up before it maps any code of a module. It contains
 * faults, not malice: it is no security boundary against the module.
 */
#ifndef PGFLOW_RUNNER_SANDBOX_H
#define PGFLOW_RUNNER_SANDBOX_H

#include "runner/options.h"

/* In this order: user and group, every descriptor from `first_fd` on, death with
 * the parent (exits at once when the parent is gone already), first in line
 * for the out-of-memory killer, limits of memory and core, adoption of orphans, no_new_privs. */
bool sandbox_enter(const struct runner_options *options, int first_fd,
                   struct error *error) MUST_CHECK;

#endif
