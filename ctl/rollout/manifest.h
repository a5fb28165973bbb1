/*
 * A deployment manifest as a file. Its meaning is the database's; here it is
 * only read, so far as the sequence of a rollout depends on it.
 */
#ifndef PGFLOW_CTL_ROLLOUT_MANIFEST_H
#define PGFLOW_CTL_ROLLOUT_MANIFEST_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct cJSON;

struct manifest {
    struct buf text;
    struct cJSON *json;
    const char *deployment; /* borrowed from json */
};

/* ERROR_USAGE: no such file, no JSON, no deployment or no entries. On failure
 * there is nothing to free. */
bool manifest_read(struct manifest *manifest, const char *path, struct error *error) MUST_CHECK;
/* The same of a text that came from elsewhere, called `name` in errors; it is the manifest's
 * then. On failure it stays the caller's. */
bool manifest_parse(struct manifest *manifest, const char *name, struct buf *text,
                    struct error *error) MUST_CHECK;
void manifest_free(struct manifest *manifest);

size_t manifest_count(const struct manifest *manifest);
/* A member of an entry that is a text; "" for any other. */
const char *manifest_text(const struct manifest *manifest, size_t entry, const char *name);
/* The flow that the entry serves; NULL: it serves a queue. */
const char *manifest_flow(const struct manifest *manifest, size_t entry);
/* How many modules a host of the entry carries, by its first set; 0: it names none. */
size_t manifest_modules(const struct manifest *manifest, size_t entry);
/* Any entry with this action. */
bool manifest_has(const struct manifest *manifest, const char *action);

#endif
