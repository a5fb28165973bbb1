/* The schema and the way to it, compiled in (sql/assemble.cmake; docs/internals/migrations.md).
 *
 * A database without the schema gets `fresh`, one statement (a DO block) that takes the
 * advisory lock, refuses a schema that this project did not make, returns without a change
 * where its version or a later one is installed, and writes its own version row.
 *
 * A database at `base` or later gets the statements of `expand` one by one, then `flip`,
 * which is one statement again. db/upgrade.h sends them.
 *
 * A host's own number is `version`; it may run when pgflow.schema_version() answers
 * oldest_host <= number <= version.
 */
#ifndef SQL_SQL_MIGRATIONS_H
#define SQL_SQL_MIGRATIONS_H

#include <stddef.h>

struct sql_text {
    const char *name; /* of the file; NULL ends a list */
    const char *text; /* NUL-terminated, UTF-8 */
    size_t size;      /* bytes, without the NUL */
};

struct sql_schema {
    int version;
    int oldest_host;  /* oldest host number that may run on it before the contract */
    int base;         /* the frozen version that an upgrade starts from */
    const char *name; /* "core" */
    struct sql_text fresh;
    const struct sql_text *expand; /* files of statements, each to run on its own */
    struct sql_text flip;
    const struct sql_text *contract; /* as expand */
    const struct sql_text *in_use;   /* one query a file; its rows name what base cannot serve */
    struct sql_text unflip;          /* back to base: functions and version row */
    struct sql_text drop_new;        /* functions and types that base does not have */
    const struct sql_text *down;     /* as expand: takes away what expand brought */
};

extern const struct sql_schema sql_schema;

#endif
