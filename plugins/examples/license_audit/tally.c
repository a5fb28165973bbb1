/* SPDX-License-Identifier: Apache-2.0 */
#include "tally.h"

#include <stdlib.h>
#include <string.h>

static bool make_room(struct tally *tally)
{
    if (tally->count < tally->capacity)
        return true;
    size_t capacity = tally->capacity > 0 ? 2 * tally->capacity : 64;
    struct tally_entry *entries = realloc(tally->entries, capacity * sizeof *entries);
    if (entries == NULL)
        return false;
    tally->entries = entries;
    tally->capacity = capacity;
    return true;
}

bool tally_add(struct tally *tally, const char *name)
{
    for (size_t i = 0; i < tally->count; i++) {
        if (strcmp(tally->entries[i].name, name) == 0) {
            tally->entries[i].count++;
            return true;
        }
    }
    if (!make_room(tally))
        return false;
    tally->entries[tally->count++] = (struct tally_entry){name, 1};
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct tally_entry *left = a;
    const struct tally_entry *right = b;
    if (left->count != right->count)
        return left->count > right->count ? -1 : 1;
    return strcmp(left->name, right->name);
}

void tally_sort(struct tally *tally)
{
    if (tally->count > 0)
        qsort(tally->entries, tally->count, sizeof *tally->entries, compare);
}

void tally_finish(struct tally *tally)
{
    free(tally->entries);
    *tally = (struct tally){NULL, 0, 0};
}
