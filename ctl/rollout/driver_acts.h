/*
 * What a driver changes in the database: one statement a step, which takes the lock
 * and acts only where it got it.
 */
#ifndef PGFLOW_CTL_ROLLOUT_DRIVER_ACTS_H
#define PGFLOW_CTL_ROLLOUT_DRIVER_ACTS_H

#include "base/error.h"
#include "ctl/rollout/driver.h"

#include <stdbool.h>

/* Takes the step and reports it. False: refused (ERROR_ANSWER_NO, with what it waits for
 * or who has the lock) or failed. A step without an act does nothing. */
bool driver_act(struct driver *driver, enum driver_step step, const char *deployment,
                const char *manifest, struct error *error) MUST_CHECK;

/* Whether the step is one that changes the database. */
bool driver_acts_at(enum driver_step step);

/* The manifest of the retirement that follows; to be freed. NULL without an error: none
 * does. `only_begun`: none, too, while nobody has loaded it. */
char *driver_retirement(struct driver *driver, bool only_begun, struct error *error);

#endif
