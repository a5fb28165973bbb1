/*
 * The limit of memory that a host would give a handler, for commands that run one.
 */
#ifndef PGFLOW_CTL_HANDLER_MEMORY_H
#define PGFLOW_CTL_HANDLER_MEMORY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct invocation;

/* As pgflow-host reads it: the option (the command has one of that name), the environment, the file
 * of --config or PGFLOW_CONFIG, the default. 0: none. */
bool handler_memory_mib(const struct invocation *invocation, size_t *mib,
                        struct error *error) MUST_CHECK;

#endif
