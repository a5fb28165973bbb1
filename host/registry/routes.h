/*
 * Which queue a host may serve, and the messages that list what is routed where. Private to the
 * registry.
 */
#ifndef PGFLOW_REGISTRY_ROUTES_H
#define PGFLOW_REGISTRY_ROUTES_H

#include <stdbool.h>

#include "base/error.h"
#include "base/limits.h"
#include "registry/registry.h"

/* The canonical name of `wanted`, or (NULL) the queue of the one plain flow, into `queue`. */
bool routes_choose_queue(const struct registry *registry, const char *wanted,
                         char queue[LIMIT_QUEUE_NAME + 1], struct error *error) MUST_CHECK;

/* After the served steps were marked: every module has one. */
bool routes_check_all_served(const struct registry *registry, struct error *error) MUST_CHECK;

#endif
