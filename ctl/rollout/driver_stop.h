/*
 * The end of a driver that cannot go on: what state that is, and what to do.
 */
#ifndef PGFLOW_CTL_ROLLOUT_DRIVER_STOP_H
#define PGFLOW_CTL_ROLLOUT_DRIVER_STOP_H

#include "base/error.h"
#include "ctl/rollout/driver.h"

/* Adds both to the error, and reports it. */
void driver_stop(struct driver *driver, enum driver_step step, struct error *error);

#endif
