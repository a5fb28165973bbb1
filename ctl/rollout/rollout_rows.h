/*
 * Where a deployment stands: the steps of the guide, as the database computes them.
 */
#ifndef PGFLOW_CTL_ROLLOUT_ROLLOUT_ROWS_H
#define PGFLOW_CTL_ROLLOUT_ROLLOUT_ROWS_H

#include "base/error.h"

#include <stdbool.h>

struct db_rows;
struct db_sync;

enum rollout_column { STEP, NAME, STATE, WAITS_FOR, NOTES };

/* One row a step: number, name, state, what it waits for, notes; the last two a line each,
 * or JSON arrays. Step 0, "file": the text is not the manifest that was loaded. A deployment
 * that nobody loaded is at step 1, "load". NULL: the error is set. */
struct db_rows *rollout_rows(struct db_sync *db, const char *deployment, const char *manifest,
                             bool json, struct error *error) MUST_CHECK;

/* Nothing is to be done: done, or later deployments took over. */
bool rollout_is_over(const char *state);

#endif
