/*
 * What differs between two JSON values, member by member; equal is what jsonb holds for equal.
 */
#ifndef PGFLOW_CTL_REPLAY_JSON_DIFF_H
#define PGFLOW_CTL_REPLAY_JSON_DIFF_H

#include "base/error.h"
#include "base/json_view.h"

#include <stdbool.h>
#include <stddef.h>

struct json_difference {
    const char *path;               /* a JSON pointer; "": the whole value */
    const char *field;              /* the same with * for each index of an array */
    const struct json_view *before; /* NULL: not there */
    const struct json_view *after;
};

/* Called for each difference; outermost where the kinds differ. */
typedef void (*json_diff_found)(void *ctx, const struct json_difference *difference);

bool json_diff(struct json_view before, struct json_view after, json_diff_found found, void *ctx,
               struct error *error) MUST_CHECK;

/* `path` is the pointer `pattern`, or below it; a part * of the pattern stands for any. */
bool json_diff_is_below(const char *path, const char *pattern);

#endif
