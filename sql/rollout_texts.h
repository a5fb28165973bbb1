/* The blocks of sql/rollout, compiled in: what docs/operations/rollout.md shows
 * and the tests run. Names of values are psql's: :'deployment'.
 */
#ifndef SQL_ROLLOUT_TEXTS_H
#define SQL_ROLLOUT_TEXTS_H

#include <stddef.h>

struct rollout_text {
    const char *name; /* of the file, without .sql */
    const char *sql;  /* comment lines, then one statement */
};

extern const struct rollout_text rollout_texts[];
extern const size_t rollout_texts_count;

#endif
