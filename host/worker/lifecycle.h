/*
 * The life of a host as a table: which state may follow which. One function changes it, and logs
 * it.
 *
 *     starting   steps 6 to 10 of a start; also again after standing by
 *     standby    the function is disabled: a row that claims nothing, heartbeats, maintain
 *     running    claims
 *     draining   claims nothing any more; finishes, reports, then stands by or stops
 *     stopped    nothing is left to do but to close
 */
#ifndef PGFLOW_WORKER_LIFECYCLE_H
#define PGFLOW_WORKER_LIFECYCLE_H

#include <stdbool.h>

enum worker_state {
    WORKER_STARTING,
    WORKER_STANDBY,
    WORKER_RUNNING,
    WORKER_DRAINING,
    WORKER_STOPPED,
};

struct lifecycle {
    enum worker_state state;
    const char *queue; /* for the log; borrowed */
};

bool lifecycle_may_move(enum worker_state from, enum worker_state to);
/* Aborts the process on a move that is not in the table: the host would do what it must not. */
void lifecycle_set(struct lifecycle *life, enum worker_state to, const char *why);
const char *worker_state_name(enum worker_state state);

#endif
