/* SPDX-License-Identifier: Apache-2.0
 * A set of licence names, and what a name says: its SPDX spelling and its family. Pure
 * functions, no allocation. Names are printable ASCII, so they are JSON strings as they are. */
#ifndef LICENSE_AUDIT_LICENSE_SET_H
#define LICENSE_AUDIT_LICENSE_SET_H

#include <stdbool.h>
#include <stddef.h>

enum { LICENSE_NAME_SIZE = 48, LICENSE_SET_SIZE = 96 };

/* In order of first appearance. A file with more names than that loses the rest: `full`. */
struct license_set {
    char names[LICENSE_SET_SIZE][LICENSE_NAME_SIZE];
    size_t count;
    bool full;
};

/* Adds a name once; it is normalised first. Names that say nothing are dropped. */
void license_set_add(struct license_set *set, const char *name, size_t size);

bool license_set_has(const struct license_set *set, const char *name);

/* The SPDX identifier of a licence as Debian and authors spell it: "GPL-2+", "GPLv2 or
 * later", "Expat". An unknown name comes back as it is, without what is no printable
 * ASCII, cut to the size. "": it names no licence. */
void license_normalise(char out[LICENSE_NAME_SIZE], const char *name, size_t size);

/* "permissive", "weak-copyleft", "copyleft", "public-domain" or "other", of a normalised
 * name. Static. */
const char *license_family(const char *name);

#endif
