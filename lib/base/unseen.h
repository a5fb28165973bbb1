/*
 * Characters that are not seen themselves, but turn, hide or break what stands beside them: control
 * characters (C0, DEL, C1), line and paragraph separators, format characters (Cf) such as U+202E.
 * Texts of third parties that a person reads have none of them.
 */
#ifndef PGFLOW_BASE_UNSEEN_H
#define PGFLOW_BASE_UNSEEN_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a well-formed UTF-8 sequence of 1 to 4 bytes. */
uint32_t unseen_code_point(const char *text, size_t bytes);

bool unseen_is(uint32_t code);

/* A question mark in the place of each but C0, in UTF-8 text; gives its size, which never grows. */
size_t unseen_replace(char *text, size_t size);

/* The inside of a JSON string: escapes (\uXXXX) for each but C0; the rest goes through `put`. */
void unseen_escape(struct buf *out, const char *text, size_t size,
                   void (*put)(struct buf *out, const void *text, size_t size));

/* JSON text, with escapes for all but C0: others can stand in its strings alone. */
void unseen_put_json(struct buf *out, const char *json, size_t size);

#endif
