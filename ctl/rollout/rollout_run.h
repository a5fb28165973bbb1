/*
 * pgflowctl rollout MANIFEST.json run, as the command line has it.
 */
#ifndef PGFLOW_CTL_ROLLOUT_ROLLOUT_RUN_H
#define PGFLOW_CTL_ROLLOUT_ROLLOUT_RUN_H

#include "base/error.h"

#include <stdbool.h>

struct invocation;
struct manifest;

/* The exit status, or FAILED with the error. */
int rollout_run(struct invocation *invocation, const struct manifest *manifest,
                struct error *error) MUST_CHECK;

/* ERROR_USAGE when an option of `run` is given to another verb. */
bool rollout_run_options_fit(const struct invocation *invocation, const char *verb,
                             struct error *error) MUST_CHECK;

#endif
