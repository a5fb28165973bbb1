/*
 * Which way a database comes to this program's schema: from nothing by one statement,
 * from an earlier version by an upgrade.
 */
#include "db/migrate.h"

#include "db/sync.h"
#include "sql/sql_migrations.h"

#include <stdlib.h>
#include <string.h>

int migrate_own_version(void)
{
    return sql_schema.version;
}

bool migrate_judge(int version, int oldest_host, struct error *error)
{
    int own = migrate_own_version();
    if (version == 0)
        return error_set(error, ERROR_CONFIG,
                         "the schema pgflow is not installed in this database; run: pgflowctl "
                         "migrate");
    if (version < own)
        return error_set(
            error, ERROR_CONFIG,
            "the schema pgflow is at version %d, this program needs %d; run: pgflowctl "
            "migrate",
            version, own);
    if (own < oldest_host)
        return error_set(error, ERROR_CONFIG,
                         "the schema pgflow is at version %d and runs programs from version %d on, "
                         "this one is %d; install a newer pgflow-host",
                         version, oldest_host, own);
    return true;
}

/* Asked before the call, so that no role that may not call it leaves an error in the
 * server's log. */
static bool may_ask(struct db_sync *sync)
{
    static const char sql[] = "select 1 from pg_proc p"
                              " where p.oid = to_regprocedure('pgflow.schema_version()')"
                              "   and has_function_privilege(p.oid, 'execute')";
    struct error ignored;
    struct db_rows *rows = db_sync_query(sync, sql, NULL, 0, &ignored);
    bool may = rows != NULL && db_rows_count(rows) == 1;
    db_rows_destroy(rows);
    return may;
}

bool migrate_bears_program(struct db_sync *sync, struct error *error)
{
    static const char sql[] = "select version, oldest_host from pgflow.schema_version()";
    struct error ignored;
    struct db_rows *rows = may_ask(sync) ? db_sync_query(sync, sql, NULL, 0, &ignored) : NULL;
    int version = 0;
    int oldest_host = 0;
    if (rows != NULL && db_rows_count(rows) == 1) {
        version = (int)strtol(db_rows_text(rows, 0, 0), NULL, 10);
        oldest_host = (int)strtol(db_rows_text(rows, 0, 1), NULL, 10);
    }
    db_rows_destroy(rows);
    return oldest_host <= migrate_own_version() || migrate_judge(version, oldest_host, error);
}

/* 0 when the schema is missing; a schema that is not ours is refused by the
 * first migration, with what to do. */
bool migrate_read(struct db_sync *sync, int *version, struct error *error)
{
    struct db_rows *rows =
        db_sync_query(sync, "select version from pgflow.schema_version()", NULL, 0, error);
    const char *sqlstate = db_sync_sqlstate(sync);
    *version = 0;
    if (rows == NULL)
        return strcmp(sqlstate, "3F000") == 0 || strcmp(sqlstate, "42883") == 0 ||
               strcmp(sqlstate, "42P01") == 0;
    const char *text = db_rows_count(rows) == 1 ? db_rows_text(rows, 0, 0) : NULL;
    *version = text != NULL ? (int)strtol(text, NULL, 10) : 0;
    db_rows_destroy(rows);
    return true;
}

static bool install(struct db_sync *sync, struct error *error)
{
    struct db_rows *rows = db_sync_query(sync, sql_schema.fresh.text, NULL, 0, error);
    db_rows_destroy(rows);
    return rows != NULL || error_wrap(error, "schema version %d", sql_schema.version);
}

bool migrate_apply(struct upgrade *upgrade, struct migrated *migrated, struct error *error)
{
    struct db_sync *sync = upgrade->sync;
    if (!migrate_read(sync, &migrated->before, error))
        return false;
    if (migrated->before == 0 && !install(sync, error))
        return false;
    if (migrated->before > 0 && migrated->before < sql_schema.version &&
        !upgrade_run(upgrade, error))
        return error_wrap(error, "upgrade of the schema from version %d to %d", migrated->before,
                          sql_schema.version);
    return migrate_read(sync, &migrated->after, error);
}
