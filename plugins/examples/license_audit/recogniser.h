/* SPDX-License-Identifier: Apache-2.0
 * Which licences a copyright file names. Pure functions over its text, which may be
 * anything: any encoding, NUL bytes, no newline at the end. */
#ifndef LICENSE_AUDIT_RECOGNISER_H
#define LICENSE_AUDIT_RECOGNISER_H

#include "license_set.h"

enum recognised_by {
    RECOGNISED_BY_NOTHING,
    RECOGNISED_BY_DEP5, /* the License fields of a machine-readable file */
    RECOGNISED_BY_TEXT, /* phrases of well-known licence texts */
};

/* Fills `set` (emptied first). A machine-readable file without a License field is read as
 * free text. Without memory for a copy of the text: RECOGNISED_BY_NOTHING and `*failed`. */
enum recognised_by recognise(struct license_set *set, const char *text, size_t size, bool *failed);

/* The two halves. recognise_dep5: false when the file is not in that format
 * (https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/). */
bool recognise_dep5(struct license_set *set, const char *text, size_t size);
/* `folded` is lower case, with one space for each run of white space and comment signs. */
void recognise_phrases(struct license_set *set, const char *folded);

/* What recognise_phrases wants; free() it. NULL: no memory. */
char *fold_text(const char *text, size_t size);

const char *recognised_by_name(enum recognised_by by);

#endif
