/*
 * The phases of an upgrade, and the way back.
 */
#include "db/upgrade.h"

#include "base/buf.h"
#include "db/sync.h"
#include "db/upgrade_step.h"
#include "sql/sql_migrations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOCK_POLL_MS = 200 };

/* ---- One at a time ---- */

/* The lock is the session's: behind a transaction pooler it would be anybody's. */
static bool require_own_session(struct upgrade *upgrade, struct error *error)
{
    struct db_rows *rows = db_sync_query(upgrade->sync, "select pg_backend_pid()", NULL, 0, error);
    if (rows == NULL)
        return false;
    long pid = strtol(db_rows_text(rows, 0, 0), NULL, 10);
    db_rows_destroy(rows);
    return pid == db_sync_backend_pid(upgrade->sync) ||
           error_set(error, ERROR_CONFIG,
                     "a pooler stands before %s, and an upgrade of the schema needs a session of "
                     "its own; give the address of PostgreSQL itself",
                     db_sync_label(upgrade->sync));
}

/* Asked again rather than waited for: a statement that waits holds a snapshot, for which the
 * other's CREATE INDEX CONCURRENTLY would wait in turn. */
static bool lock(struct upgrade *upgrade, struct error *error)
{
    static const char sql[] = "select pg_try_advisory_lock(-1885826167, 1)";
    bool reported = false;
    for (;;) {
        struct db_rows *rows = db_sync_query(upgrade->sync, sql, NULL, 0, error);
        if (rows == NULL)
            return false;
        bool got = strcmp(db_rows_text(rows, 0, 0), "t") == 0;
        db_rows_destroy(rows);
        if (got)
            return true;
        if (!reported && upgrade->tell != NULL)
            upgrade->tell(upgrade->ctx,
                          "another pgflowctl migrate is at work; waiting for its end");
        reported = true;
        (void)db_sync_wait(upgrade->sync, LOCK_POLL_MS);
    }
}

static bool begin(struct upgrade *upgrade, struct error *error)
{
    if (!require_own_session(upgrade, error) || !lock(upgrade, error))
        return false;
    struct db_rows *rows =
        db_sync_query(upgrade->sync, "set statement_timeout = 0", NULL, 0, error);
    db_rows_destroy(rows);
    return rows != NULL;
}

/* The connection may have gone; then the lock has gone with it. */
static void end(struct upgrade *upgrade)
{
    static const char sql[] = "select pg_advisory_unlock(-1885826167, 1)";
    struct error ignored;
    db_rows_destroy(db_sync_query(upgrade->sync, sql, NULL, 0, &ignored));
}

/* ---- Files of statements ---- */

static bool run_file(struct upgrade *upgrade, const char *phase, const struct sql_text *file,
                     struct error *error)
{
    struct upgrade_step step = {.phase = phase, .file = file->name, .number = 1};
    const char *at = file->text;
    for (; sql_split_next(&at, &step.piece); step.number++) {
        if (!upgrade_step_run(upgrade, &step, error))
            return false;
    }
    return true;
}

static bool run_files(struct upgrade *upgrade, const char *phase, const struct sql_text *files,
                      struct error *error)
{
    for (; files->name != NULL; files++) {
        if (!run_file(upgrade, phase, files, error))
            return false;
    }
    return true;
}

static bool close_phase(struct upgrade *upgrade, const char *phase, struct error *error)
{
    char sql[256];
    (void)snprintf(
        sql, sizeof sql,
        "insert into pgflow.schema_steps (version, phase, step) values (%d, '%s', 'done') "
        "on conflict do nothing",
        sql_schema.version, phase);
    return upgrade_send(upgrade, phase, sql, error);
}

static bool expand_and_flip(struct upgrade *upgrade, struct error *error)
{
    return run_files(upgrade, "expand", sql_schema.expand, error) &&
           close_phase(upgrade, "expand", error) &&
           upgrade_send(upgrade, sql_schema.flip.name, sql_schema.flip.text, error);
}

bool upgrade_run(struct upgrade *upgrade, struct error *error)
{
    if (!begin(upgrade, error))
        return false;
    bool ran = expand_and_flip(upgrade, error);
    end(upgrade);
    return ran;
}

/* ---- What stands in the way ---- */

/* The rows of a query that has one text column, put into an error. */
static bool refuse_if_any(struct upgrade *upgrade, const char *sql, const char *what,
                          const char *remedy, struct error *error)
{
    struct db_rows *rows = db_sync_query(upgrade->sync, sql, NULL, 0, error);
    if (rows == NULL)
        return false;
    bool none = db_rows_count(rows) == 0;
    struct buf names;
    buf_init(&names, sizeof error->text);
    for (size_t i = 0; i < db_rows_count(rows); i++)
        buf_printf(&names, "\n  %s", db_rows_text(rows, i, 0));
    if (!none)
        (void)error_set(error, ERROR_CONFIG, "%s; %s:%s", what, remedy, names.data);
    buf_free(&names);
    db_rows_destroy(rows);
    return none;
}

static bool refuse_unfit_hosts(struct upgrade *upgrade, int version, const char *remedy,
                               struct error *error)
{
    char sql[512];
    char what[128];
    (void)snprintf(
        sql, sizeof sql,
        "select format('function %%s, host %%s, process %%s, release %%s', u.function_name,"
        " u.host, u.pid, u.program) from pgflow._hosts_unfit_for(%d) u",
        version);
    (void)snprintf(what, sizeof what, "hosts are alive that cannot serve schema version %d",
                   version);
    return refuse_if_any(upgrade, sql, what, remedy, error);
}

/* An earlier attempt took away the table or column that the feature needs. */
static bool is_gone(const struct db_sync *sync)
{
    const char *sqlstate = db_sync_sqlstate(sync);
    return strcmp(sqlstate, "42P01") == 0 || strcmp(sqlstate, "42703") == 0;
}

static bool refuse_features_in_use(struct upgrade *upgrade, struct error *error)
{
    char what[128];
    (void)snprintf(what, sizeof what, "schema version %d does not know what is used here",
                   sql_schema.base);
    for (const struct sql_text *feature = sql_schema.in_use; feature->name != NULL; feature++) {
        if (!refuse_if_any(upgrade, feature->text, what,
                           "end its use, or stay at the present version", error) &&
            !is_gone(upgrade->sync))
            return error_wrap(error, "%.*s", (int)strcspn(feature->name, "."), feature->name);
    }
    return true;
}

static bool read_version(struct upgrade *upgrade, int *version, int *oldest_host,
                         struct error *error)
{
    struct db_rows *rows = db_sync_query(
        upgrade->sync, "select version, oldest_host from pgflow.schema_version()", NULL, 0, error);
    if (rows == NULL)
        return false;
    *version = (int)strtol(db_rows_text(rows, 0, 0), NULL, 10);
    *oldest_host = (int)strtol(db_rows_text(rows, 0, 1), NULL, 10);
    db_rows_destroy(rows);
    return true;
}

static bool require_version(struct upgrade *upgrade, struct error *error)
{
    int version = 0;
    int oldest_host = 0;
    return read_version(upgrade, &version, &oldest_host, error) &&
           (version == sql_schema.version ||
            error_set(error, ERROR_CONFIG,
                      "the schema pgflow is at version %d, and this program contracts version %d; "
                      "%s",
                      version, sql_schema.version,
                      version < sql_schema.version ? "run first: pgflowctl migrate"
                                                   : "use the pgflowctl of that version"));
}

/* ---- The contract ---- */

static bool raise_floor(struct upgrade *upgrade, struct error *error)
{
    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "update pgflow.schema_migrations set oldest_host = version where version = %d",
                   sql_schema.version);
    return upgrade_send(upgrade, "contract", sql, error);
}

/* Twice: a host may have come between the question and the floor. */
static bool contract(struct upgrade *upgrade, struct error *error)
{
    static const char remedy[] = "update or stop them first";
    return require_version(upgrade, error) &&
           refuse_unfit_hosts(upgrade, sql_schema.version, remedy, error) &&
           raise_floor(upgrade, error) && upgrade_outwait(upgrade, error) &&
           refuse_unfit_hosts(upgrade, sql_schema.version, remedy, error) &&
           run_files(upgrade, "contract", sql_schema.contract, error) &&
           close_phase(upgrade, "contract", error);
}

bool upgrade_contract(struct upgrade *upgrade, struct error *error)
{
    if (!begin(upgrade, error))
        return false;
    bool ran = contract(upgrade, error);
    end(upgrade);
    return ran;
}

/* ---- The way back ---- */

static bool flip_back(struct upgrade *upgrade, struct error *error)
{
    return refuse_unfit_hosts(upgrade, sql_schema.base, "stop them first", error) &&
           refuse_features_in_use(upgrade, error) &&
           upgrade_send(upgrade, sql_schema.unflip.name, sql_schema.unflip.text, error);
}

/* A host may have come between the question and the flip. */
static bool refuse_late_hosts(struct upgrade *upgrade, struct error *error)
{
    return refuse_unfit_hosts(upgrade, sql_schema.base, "stop them, and run this again", error) ||
           strcmp(db_sync_sqlstate(upgrade->sync), "42883") ==
               0; /* an earlier attempt dropped it */
}

/* What is used is asked again behind the last call that could have used it. */
static bool take_away(struct upgrade *upgrade, struct error *error)
{
    return upgrade_outwait(upgrade, error) && refuse_late_hosts(upgrade, error) &&
           refuse_features_in_use(upgrade, error) &&
           upgrade_send(upgrade, sql_schema.drop_new.name, sql_schema.drop_new.text, error) &&
           run_files(upgrade, NULL, sql_schema.down, error);
}

static bool go_down(struct upgrade *upgrade, struct error *error)
{
    int version = 0;
    int oldest_host = 0;
    if (!read_version(upgrade, &version, &oldest_host, error))
        return false;
    if (version == sql_schema.version && oldest_host == version)
        return error_set(error, ERROR_CONFIG,
                         "version %d of the schema is contracted; the way back is a backup",
                         version);
    return (version < sql_schema.version || flip_back(upgrade, error)) && take_away(upgrade, error);
}

bool upgrade_down(struct upgrade *upgrade, struct error *error)
{
    if (!begin(upgrade, error))
        return false;
    bool ran = go_down(upgrade, error);
    end(upgrade);
    return ran;
}
