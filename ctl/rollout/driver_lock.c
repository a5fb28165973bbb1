/*
 * The lock of a driver, and who has it.
 */
#include "ctl/rollout/driver_lock.h"

#include "base/clock.h"
#include "ctl/query.h"
#include "db/sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NAMEDATALEN - 1; the server would cut it. */
enum { SESSION_NAME = 64, HOST_NAME = 256, USER_NAME = 32 };
enum { AWAIT_MS = 2000, PAUSE_MS = 50 };

bool driver_lock_require_session(struct db_sync *db, struct error *error)
{
    struct db_rows *rows = query_rows(db, "select pg_backend_pid()", NULL, 0, error);
    if (rows == NULL)
        return false;
    long pid = strtol(db_rows_text(rows, 0, 0), NULL, 10);
    db_rows_destroy(rows);
    return pid == db_sync_backend_pid(db) ||
           error_set(error, ERROR_CONFIG,
                     "a pooler stands before %s, and the lock of a driver needs a session of its "
                     "own; give the address of PostgreSQL itself",
                     db_sync_label(db));
}

/* Its key is one bigint, which pg_locks shows in two halves. Names of other logins'
 * programs are for members of pg_read_all_stats. */
static const char holder_sql[] =
    "select concat_ws(', ', coalesce(nullif(a.application_name, ''), 'a session'),"
    "   'user \"' || a.usename || '\"', 'server process ' || l.pid,"
    "   'since ' || to_char(a.backend_start, 'YYYY-MM-DD HH24:MI:SS TZ'))"
    " from pg_locks l left join pg_stat_activity a on a.pid = l.pid"
    " where l.locktype = 'advisory' and l.granted and l.objsubid = 1"
    "   and l.database = (select d.oid from pg_database d where d.datname = current_database())"
    "   and (l.classid::bigint << 32 | l.objid::bigint)"
    "       = hashtextextended('pgflow rollout ' || $1, 0)"
    "   and l.pid <> pg_backend_pid()";

bool driver_lock_refuse(struct db_sync *db, const char *deployment, struct error *error)
{
    struct db_rows *rows = query_rows(db, holder_sql, &deployment, 1, error);
    if (rows == NULL)
        return false;
    const char *who =
        db_rows_count(rows) > 0 ? db_rows_text(rows, 0, 0) : "one that has just ended";
    (void)error_set(error, ERROR_ANSWER_NO,
                    "another driver is at work on deployment \"%s\": %s; leave it to that one, or "
                    "end it and run this again",
                    deployment, who);
    db_rows_destroy(rows);
    return false;
}

bool driver_lock_is_free(struct db_sync *db, const char *deployment, struct error *error)
{
    struct db_rows *rows = query_rows(db, holder_sql, &deployment, 1, error);
    if (rows == NULL)
        return false;
    bool is_free = db_rows_count(rows) == 0;
    db_rows_destroy(rows);
    return is_free || driver_lock_refuse(db, deployment, error);
}

static void name_session(char name[SESSION_NAME])
{
    char host[HOST_NAME] = "";
    char uid[USER_NAME];
    const char *user = getenv("USER");
    (void)snprintf(uid, sizeof uid, "uid %lu", (unsigned long)getuid());
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(name, SESSION_NAME, "pgflowctl rollout %ld %.12s@%.20s", (long)getpid(),
                   user != NULL && *user ? user : uid, host);
}

bool driver_lock_take(struct db_sync *db, const char *deployment, struct error *error)
{
    static const char sql[] =
        "select case when " DRIVER_LOCK_SQL
        " then set_config('application_name', $2, false) is not null else false end";
    char name[SESSION_NAME];
    name_session(name);
    const char *values[] = {deployment, name};
    struct db_rows *rows = query_rows(db, sql, values, 2, error);
    if (rows == NULL)
        return false;
    bool took = strcmp(db_rows_text(rows, 0, 0), "t") == 0;
    db_rows_destroy(rows);
    return took || driver_lock_refuse(db, deployment, error);
}

bool driver_lock_await(struct db_sync *db, const char *deployment, struct error *error)
{
    uint64_t until_ms = clock_steady_ms() + AWAIT_MS;
    while (!driver_lock_take(db, deployment, error)) {
        if (error->code != ERROR_ANSWER_NO || clock_steady_ms() >= until_ms)
            return false;
        (void)db_sync_wait(db, PAUSE_MS);
    }
    error_clear(error);
    return true;
}
