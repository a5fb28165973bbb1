/*
 * Which steps are replayed: those of NEW that the recorded flow has with equal type, dependencies
 * and contract. The others are listed with the reason.
 */
#ifndef PGFLOW_CTL_REPLAY_PLAN_H
#define PGFLOW_CTL_REPLAY_PLAN_H

#include "base/error.h"
#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;
struct db_sync;

struct plan_step {
    char slug[LIMIT_SLUG + 1];
    uint32_t index[2]; /* in NEW, in OLD */
    bool in_old;
    bool takes_flow_input;
    uint32_t timeout_s;
    int32_t max_attempts;
};

struct plan_left {
    char slug[LIMIT_SLUG + 1];
    const char *why; /* a literal */
};

struct plan {
    struct plan_step *steps;
    struct plan_left *left;
    size_t count, left_count;
};

/* `step`: the only one wanted, or NULL. `old` may be NULL. ERROR_USAGE: no such flow or step. */
bool plan_make(struct plan *plan, struct db_sync *db, const char *flow, const char *step,
               const struct cJSON *new, const struct cJSON *old, struct error *error) MUST_CHECK;
void plan_free(struct plan *plan);

#endif
