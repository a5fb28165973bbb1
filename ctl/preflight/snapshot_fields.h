/*
 * The members of a snapshot's objects, looked at one by one. Private to the reader of snapshots.
 */
#ifndef PGFLOW_CTL_PREFLIGHT_SNAPSHOT_FIELDS_H
#define PGFLOW_CTL_PREFLIGHT_SNAPSHOT_FIELDS_H

#include "base/error.h"
#include "base/json_view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An object, and what it is called in errors: "flows[3]". */
struct snapshot_object {
    struct json_view view;
    const char *list;
    size_t index;
    struct error *error;
};

/* ERROR_CONFIG: the member is not what it must be. Always false. */
bool snapshot_wrong(const struct snapshot_object *object, const char *member, const char *expected);

/* "" stands for null, where `may_be_null`. */
bool snapshot_text(const struct snapshot_object *object, const char *member, bool may_be_null,
                   char *out, size_t size) MUST_CHECK;
bool snapshot_bool(const struct snapshot_object *object, const char *member, bool *out) MUST_CHECK;
bool snapshot_count(const struct snapshot_object *object, const char *member,
                    uint64_t *out) MUST_CHECK;
/* `kind` is '[' or '{'. */
bool snapshot_member(const struct snapshot_object *object, const char *member, char kind,
                     struct json_view *out) MUST_CHECK;

/* A stored flow, whole enough for flow_compare: every value of the type that it has in the document
 * of a module. */
bool snapshot_check_deployment(const struct snapshot_object *flow,
                               struct json_view deployment) MUST_CHECK;

#endif
