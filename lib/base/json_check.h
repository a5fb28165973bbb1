/*
 * A strict judge of JSON text: RFC 8259, UTF-8 well formed, no NUL byte, no
 * \u0000, surrogates in pairs, nesting at most what was asked. Reads in any
 * number of pieces, keeps a hundred bytes of state, allocates nothing, needs libc
 * only (the runner links it too).
 *
 * It does not look at the size of numbers: what jsonb's numeric cannot hold
 * (1e200000) only PostgreSQL can tell, and it comes back as `refused`.
 */
#ifndef PGFLOW_BASE_JSON_CHECK_H
#define PGFLOW_BASE_JSON_CHECK_H

#include "base/error.h"
#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_check {
    uint64_t offset;                         /* bytes accepted */
    const char *problem;                     /* NULL, or static text: what is wrong at offset */
    uint32_t depth, max_depth;               /* arrays and objects that are open */
    uint8_t in_object[LIMIT_JSON_DEPTH / 8]; /* bit per level: object, else array */
    uint8_t state;                           /* enum in json_check.c */
    uint8_t is_key;                          /* the string being read is a key */
    uint8_t pending;                         /* bytes or hex digits still to come */
    uint8_t low, high;                       /* range of the next UTF-8 byte */
    uint8_t after_high_surrogate;            /* \uD8xx was read, \uDCxx must follow */
    uint16_t unit;                           /* the \uXXXX being read */
    const char *literal;                     /* rest of true, false or null */
};

/* `max_depth` 1 to LIMIT_JSON_DEPTH; a scalar has depth 0. */
void json_check_init(struct json_check *check, uint32_t max_depth);

/* The next piece. False from the first wrong byte on. */
bool json_check_feed(struct json_check *check, const char *text, size_t size) MUST_CHECK;

/* After the last piece: true when exactly one value was read. */
bool json_check_end(struct json_check *check) MUST_CHECK;

/* All in one, LIMIT_JSON_DEPTH deep. The error (ERROR_USAGE) says
 * "not JSON: <what> at byte <n>", never the text itself. */
bool json_check_text(const char *text, size_t size, struct error *error) MUST_CHECK;

#endif
