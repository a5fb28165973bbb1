/*
 * One statement of an upgrade. It goes to the server within a DO block, which is
 * its transaction: the ledger, the lock's patience, the statement.
 */
#include "db/upgrade_step.h"

#include "base/buf.h"
#include "base/clock.h"
#include "db/sync.h"
#include "sql/sql_migrations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIRST_PAUSE_MS = 100, LONGEST_PAUSE_MS = 1000 };

/* ---- Waiting ---- */

static void tell(const struct upgrade *upgrade, const char *line)
{
    if (upgrade->tell != NULL)
        upgrade->tell(upgrade->ctx, line);
}

/* Who holds locks on our tables, or a transaction that is older: pg_locks shows this to
 * everyone, the age only to who may see it. */
static const char holders_sql[] =
    "select string_agg(format('process %s (%s%s)', h.pid, coalesce(nullif(a.application_name, ''),"
    "   a.backend_type, 'unknown'), ', since ' || extract(epoch from now() - a.xact_start)::int || "
    "' s'), ', ')"
    " from (select distinct l.pid from pg_locks l"
    "   left join pg_class c on c.oid = l.relation and c.relnamespace = to_regnamespace('pgflow')"
    "   where l.granted and l.pid <> pg_backend_pid()"
    "     and (c.oid is not null or l.virtualxid = any ($1::text[]))) h"
    " left join pg_stat_activity a on a.pid = h.pid";

/* "" when nobody is seen. */
static void name_holders(struct upgrade *upgrade, const char *transactions, char *out, size_t size)
{
    struct error ignored;
    const char *values[] = {transactions};
    struct db_rows *rows = db_sync_query(upgrade->sync, holders_sql, values, 1, &ignored);
    const char *names = rows != NULL ? db_rows_text(rows, 0, 0) : NULL;
    (void)snprintf(out, size, "%s", names != NULL ? names : "");
    db_rows_destroy(rows);
}

struct patience {
    const char *name; /* of what waits */
    const char *transactions;
    long began_s, logged_s;
    uint32_t pauses;
};

static struct patience patience_of(const char *name, const char *transactions)
{
    long now = (long)(clock_steady_ms() / 1000);
    return (struct patience){name, transactions, now, now, 0};
}

/* Lets the others pass. False: for too long. */
static bool pause_once(struct upgrade *upgrade, struct patience *patience, struct error *error)
{
    char holders[512];
    char line[1024];
    long now = (long)(clock_steady_ms() / 1000);
    if (now - patience->began_s >= LIMIT_UPGRADE_PATIENCE_S) {
        name_holders(upgrade, patience->transactions, holders, sizeof holders);
        return error_set(error, ERROR_UNAVAILABLE,
                         "%s waited for %d s behind other transactions: %s; end them and run this "
                         "again, it goes on from here",
                         patience->name, LIMIT_UPGRADE_PATIENCE_S, holders);
    }
    if (now - patience->logged_s >= LIMIT_UPGRADE_TELL_S) {
        patience->logged_s = now;
        name_holders(upgrade, patience->transactions, holders, sizeof holders);
        (void)snprintf(line, sizeof line, "%s waits for %ld s; running: %s", patience->name,
                       now - patience->began_s, holders);
        tell(upgrade, line);
    }
    (void)db_sync_wait(upgrade->sync,
                       (int)clock_backoff_ms(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, patience->pauses++));
    return true;
}

/* Another transaction was in the way: no lock in time, a deadlock, a row of a catalogue that
 * somebody else's DDL has just changed. */
static bool is_in_the_way(const struct db_sync *sync, const struct error *error)
{
    const char *sqlstate = db_sync_sqlstate(sync);
    return strcmp(sqlstate, "55P03") == 0 || strcmp(sqlstate, "40P01") == 0 ||
           (strcmp(sqlstate, "XX000") == 0 && strstr(error->text, "concurrently updated") != NULL);
}

bool upgrade_send(struct upgrade *upgrade, const char *name, const char *sql, struct error *error)
{
    struct patience patience = patience_of(name, "{}");
    struct db_rows *rows;
    while ((rows = db_sync_query(upgrade->sync, sql, NULL, 0, error)) == NULL) {
        if (!is_in_the_way(upgrade->sync, error))
            return error_wrap(error, "%s", name);
        if (!pause_once(upgrade, &patience, error))
            return false;
    }
    db_rows_destroy(rows);
    return true;
}

static const char running_sql[] =
    "select array_agg(l.virtualxid)::text from pg_locks l join pg_stat_activity a on a.pid = l.pid"
    " where l.locktype = 'virtualxid' and l.granted and l.pid <> pg_backend_pid()"
    "   and a.datname = current_database()"
    "   and ($1::text is null or l.virtualxid = any ($1::text[]))";

/* NULL with the error set, or the list of them, "" for none; to be freed. */
static char *running_transactions(struct upgrade *upgrade, const char *among, struct error *error)
{
    const char *values[] = {among};
    struct db_rows *rows = db_sync_query(upgrade->sync, running_sql, values, 1, error);
    if (rows == NULL)
        return NULL;
    const char *list = db_rows_text(rows, 0, 0);
    char *copy = strdup(list != NULL ? list : "");
    db_rows_destroy(rows);
    if (copy == NULL)
        (void)error_out_of_memory(error);
    return copy;
}

bool upgrade_outwait(struct upgrade *upgrade, struct error *error)
{
    char *running = running_transactions(upgrade, NULL, error);
    struct patience patience = patience_of("the end of older transactions", running);
    while (running != NULL && *running) {
        bool is_patient = pause_once(upgrade, &patience, error);
        char *left = is_patient ? running_transactions(upgrade, running, error) : NULL;
        free(running);
        running = left;
        patience.transactions = running;
    }
    bool is_over = running != NULL;
    free(running);
    return is_over;
}

/* ---- The statement ---- */

static bool begins(const char *text, const char *words)
{
    return strncasecmp(text, words, strlen(words)) == 0;
}

static bool is_concurrent_index(const char *text)
{
    return begins(text, "create index concurrently if not exists ") ||
           begins(text, "create unique index concurrently if not exists ");
}

/* The name behind some words, as far as it goes without quotes. */
static size_t name_size(const char *name)
{
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.");
}

/* Of ALTER TABLE: locked in a mode first that holds up neither readers nor writers, so that
 * autovacuum is waited for, or ended, before anybody has to wait behind this. */
static void put_quiet_lock(struct buf *sql, const char *text)
{
    static const char words[] = "alter table ";
    if (!begins(text, words))
        return;
    const char *name = text + sizeof words - 1;
    buf_printf(sql,
               "  perform pg_catalog.set_config('lock_timeout', '%ds', true);\n"
               "  execute 'lock table %.*s in share update exclusive mode';\n",
               LIMIT_UPGRADE_QUIET_LOCK_S, (int)name_size(name), name);
}

static void put_ledger_test(struct buf *sql, const struct upgrade_step *step)
{
    if (step->phase == NULL)
        return;
    buf_printf(
        sql,
        "  if pg_catalog.to_regclass('pgflow.schema_steps') is not null then\n"
        "    execute 'select exists (select from pgflow.schema_steps s where s.version = %d"
        " and s.phase = ''%s'' and s.step = ''%s:%d'' and s.digest = $1)' into is_done using "
        "digest;\n"
        "  end if;\n"
        "  if is_done then\n    return;\n  end if;\n",
        sql_schema.version, step->phase, step->file, step->number);
}

static void put_ledger_row(struct buf *sql, const struct upgrade_step *step)
{
    if (step->phase == NULL)
        return;
    buf_printf(
        sql,
        "  if %s then\n"
        "    execute 'insert into pgflow.schema_steps (version, phase, step, digest)"
        " values (%d, ''%s'', ''%s:%d'', $1) on conflict (version, phase, step)"
        " do update set digest = excluded.digest, done_at = excluded.done_at' using digest;\n"
        "  end if;\n",
        step->piece.repeats ? "changed = 0" : "true", sql_schema.version, step->phase, step->file,
        step->number);
}

/* A function made before the flip gets its rights at once. */
static void put_roles(struct buf *sql, const struct sql_piece *piece)
{
    if (begins(piece->text, "create function ") ||
        begins(piece->text, "create or replace function "))
        buf_puts(sql, "  perform pgflow._apply_roles();\n");
}

static void put_step(struct buf *sql, const struct upgrade_step *step)
{
    buf_puts(sql, "do $pgflow_do$\ndeclare\n  statement constant text := $pgflow_step$");
    buf_put(sql, step->piece.text, step->piece.size);
    buf_puts(sql, "$pgflow_step$;\n"
                  "  digest constant text := pg_catalog.encode(pg_catalog.sha256("
                  "pg_catalog.convert_to(statement, 'UTF8')), 'hex');\n"
                  "  is_done boolean := false;\n"
                  "  changed bigint := 0;\n"
                  "begin\n");
    put_ledger_test(sql, step);
    buf_puts(sql, "  perform pg_catalog.set_config('search_path', '', true);\n"
                  "  perform pg_catalog.set_config('client_min_messages', 'warning', true);\n"
                  "  perform pg_catalog.set_config('check_function_bodies', 'off', true);\n");
    put_quiet_lock(sql, step->piece.text);
    buf_printf(sql,
               "  perform pg_catalog.set_config('lock_timeout', '%dms', true);\n"
               "  execute statement;\n"
               "  get diagnostics changed = row_count;\n",
               LIMIT_UPGRADE_LOCK_MS);
    put_roles(sql, &step->piece);
    put_ledger_row(sql, step);
    buf_puts(sql, "end\n$pgflow_do$");
}

static bool is_written_down(struct upgrade *upgrade, const struct upgrade_step *step, bool *is_done,
                            struct error *error)
{
    char sql[512];
    (void)snprintf(
        sql, sizeof sql,
        "select 1 from pgflow.schema_steps where version = %d and phase = '%s' and step = "
        "'%s:%d'",
        sql_schema.version, step->phase, step->file, step->number);
    struct db_rows *rows = db_sync_query(upgrade->sync, sql, NULL, 0, error);
    *is_done = rows != NULL && db_rows_count(rows) == 1;
    db_rows_destroy(rows);
    return rows != NULL;
}

static bool run_in_a_transaction(struct upgrade *upgrade, const struct upgrade_step *step,
                                 const char *name, struct error *error)
{
    struct buf sql;
    bool is_done = false;
    buf_init(&sql, LIMIT_MIB);
    put_step(&sql, step);
    bool ran = buf_ok(&sql) || error_out_of_memory(error);
    while (ran && !is_done) {
        ran = upgrade_send(upgrade, name, sql.data, error);
        is_done = true;
        if (ran && step->piece.repeats)
            ran = is_written_down(upgrade, step, &is_done, error);
    }
    buf_free(&sql);
    return ran;
}

/* ---- An index that is built beside running work ---- */

/* One that an earlier attempt left behind unfinished is in nobody's use. */
static bool drop_invalid(struct upgrade *upgrade, const char *index, int size, struct error *error)
{
    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "select 1 from pg_index where indexrelid = to_regclass('pgflow.%.*s') and not "
                   "indisvalid",
                   size, index);
    struct db_rows *rows = db_sync_query(upgrade->sync, sql, NULL, 0, error);
    if (rows == NULL)
        return false;
    bool is_left = db_rows_count(rows) > 0;
    db_rows_destroy(rows);
    (void)snprintf(sql, sizeof sql, "drop index concurrently pgflow.%.*s", size, index);
    return !is_left || upgrade_send(upgrade, sql, sql, error);
}

static bool run_concurrently(struct upgrade *upgrade, const struct upgrade_step *step,
                             const char *name, struct error *error)
{
    static const char words[] = " if not exists ";
    const char *index = strcasestr(step->piece.text, words) + sizeof words - 1;
    char *sql = strndup(step->piece.text, step->piece.size);
    if (sql == NULL)
        return error_out_of_memory(error);
    struct patience patience = patience_of(name, "{}");
    bool built = false;
    while (drop_invalid(upgrade, index, (int)name_size(index), error)) {
        struct db_rows *rows = db_sync_query(upgrade->sync, sql, NULL, 0, error);
        built = rows != NULL;
        db_rows_destroy(rows);
        if (built)
            break;
        if (!is_in_the_way(upgrade->sync, error)) {
            (void)error_wrap(error, "%s", name);
            break;
        }
        if (!pause_once(upgrade, &patience, error))
            break;
    }
    free(sql);
    return built;
}

bool upgrade_step_run(struct upgrade *upgrade, const struct upgrade_step *step, struct error *error)
{
    char name[256];
    (void)snprintf(name, sizeof name, "statement %d of %s", step->number, step->file);
    return is_concurrent_index(step->piece.text) ? run_concurrently(upgrade, step, name, error)
                                                 : run_in_a_transaction(upgrade, step, name, error);
}
