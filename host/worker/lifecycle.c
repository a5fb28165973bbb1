#include "worker/lifecycle.h"

#include <stdlib.h>

#include "log/log.h"

static const char *const names[] = {"starting", "standby", "running", "draining", "stopped"};

/* Nothing leads from draining to running: what has begun to drain never claims again under the same
 * registration. */
static const bool legal[5][5] = {
    [WORKER_STARTING] =
        {[WORKER_STANDBY] = true, [WORKER_RUNNING] = true, [WORKER_DRAINING] = true},
    [WORKER_STANDBY] = {[WORKER_STARTING] = true, [WORKER_DRAINING] = true},
    [WORKER_RUNNING] = {[WORKER_DRAINING] = true},
    [WORKER_DRAINING] = {[WORKER_STANDBY] = true, [WORKER_STOPPED] = true},
};

bool lifecycle_may_move(enum worker_state from, enum worker_state to)
{
    return legal[from][to];
}

void lifecycle_set(struct lifecycle *life, enum worker_state to, const char *why)
{
    if (!lifecycle_may_move(life->state, to)) {
        log_fatal("illegal_state", "the worker was about to make a move that must not be",
                  LOG_FIELD_TEXT("from", names[life->state]), LOG_FIELD_TEXT("to", names[to]),
                  LOG_FIELD_TEXT("why", why));
        abort();
    }
    log_debug("lifecycle", why, LOG_QUEUE(life->queue), LOG_FIELD_TEXT("from", names[life->state]),
              LOG_FIELD_TEXT("to", names[to]));
    life->state = to;
}

const char *worker_state_name(enum worker_state state)
{
    return names[state];
}
