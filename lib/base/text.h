/*
 * What names and texts may look like. Pure functions; nothing allocates.
 */
#ifndef PGFLOW_BASE_TEXT_H
#define PGFLOW_BASE_TEXT_H

#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>

/* 1 to 128 letters, digits and `_`, not starting with a digit, not "run". The
 * rule of pgflow.is_valid_slug. */
bool text_is_slug(const char *text);

/* text_is_slug, and no leading or trailing `_`, no `__`: what deployments made
 * by the host must keep to, so that `flow__step` queues cannot collide. */
bool text_is_deployment_slug(const char *text);

/* 1 to 47 bytes of lower-case letters, digits, `_` and single inner `-`: a canonical queue name,
 * as pgflow.queues takes it. */
bool text_is_queue_name(const char *text);

/* 36 characters, 8-4-4-4-12, either case. */
bool text_is_uuid(const char *text);

/* A random (version 4) UUID in lower case. False when the system gives no
 * random bytes. */
bool text_make_uuid(char uuid[LIMIT_UUID_TEXT + 1]);

/* ASCII lower case, as lower() does for slugs. `out` has room for `size`
 * bytes with the NUL; false when it does not fit. */
bool text_lower(char *out, size_t size, const char *text);

/* The length of the well-formed UTF-8 sequence at `text`, 1 to 4; 0 when it is
 * none: overlong, a surrogate, beyond U+10FFFF, cut off. */
size_t text_utf8_sequence(const char *text, size_t size);
bool text_is_utf8(const char *text, size_t size);

/* UTF-8 without control characters of ASCII. */
bool text_is_printable(const char *text);

/* Copies `size` bytes so that PostgreSQL and any log take them: broken UTF-8
 * and NUL bytes become U+FFFD, and it is cut at a character border to fit
 * `out_size` with its NUL. Returns the length written. */
size_t text_clean(char *out, size_t out_size, const char *text, size_t size);

/* The longest prefix of at most `maximum` bytes that does not cut a UTF-8
 * sequence in two. */
size_t text_utf8_prefix(const char *text, size_t size, size_t maximum);

/* The text, or words in its place when it looks like a database URL: what was
 * given where no URL belongs is quoted in error messages, and may hold a
 * password. */
const char *text_shown(const char *text);

/* The one of `names` nearest to `name` by edit distance (ASCII case ignored),
 * for "did you mean": at most LIMIT_NEAREST_DISTANCE edits and at most a third
 * of the longer name. NULL when nothing is near. */
const char *text_nearest(const char *name, const char *const *names, size_t count);

#endif
