/*
 * The operator's yes, before what cannot be taken back by the next statement.
 */
#ifndef PGFLOW_CTL_ROLLOUT_DRIVER_ASK_H
#define PGFLOW_CTL_ROLLOUT_DRIVER_ASK_H

#include "base/error.h"

#include <stdbool.h>

struct driver;

/* Tells `about`, then asks on the terminal. True at once with --yes. False: no, or there
 * is nobody to ask; ERROR_ANSWER_NO says so. */
bool driver_ask(struct driver *driver, const char *step, const char *about, const char *question,
                struct error *error) MUST_CHECK;

#endif
