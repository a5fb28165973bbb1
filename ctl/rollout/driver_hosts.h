/*
 * The processes of a deployment, by the operator's hooks. Before it acts, a driver
 * asks `status`; then it acts only where worker rows and that answer ask for it.
 */
#ifndef PGFLOW_CTL_ROLLOUT_DRIVER_HOSTS_H
#define PGFLOW_CTL_ROLLOUT_DRIVER_HOSTS_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>

struct driver;

enum hosts { HOSTS_READY, HOSTS_CHANGED, HOSTS_WAIT, HOSTS_FAILED };

/* Brings up the new hosts of what the deployment replaces or adds. READY: as far as
 * the hooks can tell, all run. CHANGED: a hook was run, look again. WAIT: `lines` says
 * what is not there yet. Old hosts are stopped only before the apply. */
enum hosts hosts_bring_up(struct driver *driver, const char *deployment, bool applied,
                          struct buf *lines, struct error *error) MUST_CHECK;

/* Takes down those of retired functions, in the same way. */
enum hosts hosts_take_down(struct driver *driver, const char *deployment, struct buf *lines,
                           struct error *error) MUST_CHECK;

#endif
