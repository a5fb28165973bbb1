#include "registry/pair_index.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "registry/registry.h"

/* FNV-1a over both names and the NUL between them. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
    do {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    } while (*text++ != '\0');
    return hash;
}

static size_t first_slot(const struct pair_index *index, const char *flow, const char *step)
{
    uint64_t hash = hash_text(hash_text(UINT64_C(14695981039346656037), flow), step);

    return (size_t)(hash ^ hash >> 32) & (index->slot_count - 1);
}

bool pair_index_init(struct pair_index *index, size_t capacity, struct error *error)
{
    pair_index_finish(index);
    index->slot_count = 8;
    while (index->slot_count < 2 * capacity)
        index->slot_count *= 2;
    index->slots = calloc(index->slot_count, sizeof *index->slots);
    index->pairs = calloc(capacity + 1, sizeof *index->pairs);
    if (index->slots == NULL || index->pairs == NULL) {
        pair_index_finish(index);
        return error_out_of_memory(error);
    }
    return true;
}

void pair_index_finish(struct pair_index *index)
{
    free(index->slots);
    free(index->pairs);
    *index = (struct pair_index){NULL, NULL, 0, 0};
}

void pair_index_add(struct pair_index *index, const struct deployment_step *step)
{
    size_t slot = first_slot(index, step->deployment->flow, step->slug);

    while (index->slots[slot] != NULL)
        slot = (slot + 1) & (index->slot_count - 1);
    index->slots[slot] = step;
    index->pairs[index->count++] = step;
}

const struct deployment_step *pair_index_find(const struct pair_index *index, const char *flow,
                                              const char *step)
{
    if (index->slot_count == 0)
        return NULL;
    for (size_t slot = first_slot(index, flow, step); index->slots[slot] != NULL;
         slot = (slot + 1) & (index->slot_count - 1)) {
        const struct deployment_step *found = index->slots[slot];
        if (strcmp(found->slug, step) == 0 && strcmp(found->deployment->flow, flow) == 0)
            return found;
    }
    return NULL;
}
