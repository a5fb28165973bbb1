/*
 * The served (flow, step) pairs and a hash over them: open addressing, at most half full, built
 * once. Private to the registry.
 */
#ifndef PGFLOW_REGISTRY_PAIR_INDEX_H
#define PGFLOW_REGISTRY_PAIR_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct deployment_step;

struct pair_index {
    const struct deployment_step **pairs; /* in the order added */
    const struct deployment_step **slots; /* slot_count of them, NULL: free */
    size_t count, slot_count;             /* slot_count: a power of two */
};

/* Room for `capacity` pairs; takes a zeroed struct, or one that was filled before. */
bool pair_index_init(struct pair_index *index, size_t capacity, struct error *error) MUST_CHECK;
void pair_index_finish(struct pair_index *index);

void pair_index_add(struct pair_index *index, const struct deployment_step *step);
const struct deployment_step *pair_index_find(const struct pair_index *index, const char *flow,
                                              const char *step);

#endif
