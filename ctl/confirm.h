/*
 * Asking before something is done that cannot be undone, or to many.
 */
#ifndef PGFLOW_CTL_CONFIRM_H
#define PGFLOW_CTL_CONFIRM_H

#include "base/error.h"

#include <stdbool.h>

struct invocation;

/* True with the command's option --yes, or when someone at the terminal answers y or yes to
 * "<question> [y/N]". False: ERROR_ANSWER_NO after another answer; ERROR_USAGE, which names --yes,
 * where there is no terminal to ask on. */
bool confirm(const struct invocation *invocation, const char *question,
             struct error *error) MUST_CHECK;

#endif
