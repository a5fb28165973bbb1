/* The database migrations, compiled in.
 *
 * Who applies what: each text is ONE statement (a DO block). It takes the
 * advisory lock, refuses a pgflow schema that this project did not make, returns
 * without a change when its version or a later one is installed, and writes its
 * own version row; one statement, so one transaction. The migrator only sends
 * every text in order, each as a statement of its own outside a transaction
 * block, and shows the server's message, detail and hint when one is refused.
 * `psql -f 0001_core.sql` does exactly the same.
 *
 * A host's own number is the version of the last migration that it carries; it
 * may run when pgflow.schema_version() answers oldest_host <= number <= version.
 */
#ifndef SQL_SQL_MIGRATIONS_H
#define SQL_SQL_MIGRATIONS_H

#include <stddef.h>

struct sql_migration {
    int version;      /* 1, 2, 3 … without gaps */
    int oldest_host;  /* oldest host number that may still run afterwards */
    const char *name; /* "core" */
    const char *text; /* NUL-terminated, UTF-8, one statement */
    size_t len;       /* bytes, without the NUL */
};

extern const struct sql_migration sql_migrations[];
extern const size_t sql_migrations_count;

#endif
