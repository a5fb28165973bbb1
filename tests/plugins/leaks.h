/* SPDX-License-Identifier: Apache-2.0
 * What a task can leave in its process, each under a word; used by flow_leaks.c. */
#ifndef PGFLOW_TESTS_PLUGINS_LEAKS_H
#define PGFLOW_TESTS_PLUGINS_LEAKS_H

#include "support.h"

struct leak {
    const char *name; /* NULL ends a list */
    bool (*leave)(void);
};

extern const struct leak leaks_put_back[]; /* the runner undoes it */
extern const struct leak leaks_changed[];  /* it cannot */
extern const struct leak leaks_grown[]; /* it counts them, and what is undone by the task itself */

/* Writes all of it as one JSON object: leaks_state.c. */
bool put_state(const pgf_call *call);

#endif
