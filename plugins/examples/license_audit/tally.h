/* SPDX-License-Identifier: Apache-2.0
 * Counts by name. The names are borrowed: they must outlive the tally. */
#ifndef LICENSE_AUDIT_TALLY_H
#define LICENSE_AUDIT_TALLY_H

#include <stdbool.h>
#include <stddef.h>

struct tally_entry {
    const char *name;
    int count;
};

/* Zeroed: empty. */
struct tally {
    struct tally_entry *entries;
    size_t count, capacity;
};

/* False without memory. */
bool tally_add(struct tally *tally, const char *name);

/* Highest count first, then by name. */
void tally_sort(struct tally *tally);

void tally_finish(struct tally *tally);

#endif
