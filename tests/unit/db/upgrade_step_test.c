/* One statement of an upgrade, on a real server. */
#include "db/upgrade_step.h"

#include "db/migrate.h"
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

static struct db_sync *session;

static char *ask(const char *sql)
{
    struct error error;
    struct db_rows *rows = db_sync_query(session, sql, NULL, 0, &error);
    cr_assert(ne(ptr, rows, NULL), "%s: %s", sql, error.text);
    const char *text = db_rows_count(rows) > 0 ? db_rows_text(rows, 0, 0) : NULL;
    char *value = strdup(text != NULL ? text : "");
    db_rows_destroy(rows);
    return value;
}

static void expect_answer(const char *sql, const char *value)
{
    char *answer = ask(sql);
    cr_expect(eq(str, answer, (char *)(uintptr_t)value), "%s", sql);
    free(answer);
}

static void run_sql(const char *sql)
{
    free(ask(sql));
}

static void set_up(void)
{
    struct db_sync_config config = {.name = "test", .statement_deadline_ms = 60000};
    struct error error;
    struct migrated migrated;
    session = db_sync_open(&config, &error);
    cr_assert(ne(ptr, session, NULL), "%s", error.text);
    cr_assert(migrate_apply(&(struct upgrade){.sync = session}, &migrated, &error), "%s",
              error.text);
    run_sql("drop table if exists pgflow.sample");
    run_sql("drop function if exists pgflow._sample()");
    run_sql("delete from pgflow.schema_steps");
    run_sql("create table pgflow.sample (n int, seen int not null default 0)");
    run_sql("insert into pgflow.sample (n) select generate_series(1, 10)");
}

static void tear_down(void)
{
    db_sync_close(session);
}

TestSuite(upgrade_step, .init = set_up, .fini = tear_down);

static bool run_step(const char *file, struct error *error)
{
    struct upgrade upgrade = {.sync = session};
    struct upgrade_step step = {.phase = "expand", .file = "sample.sql", .number = 1};
    cr_assert(sql_split_next(&file, &step.piece));
    return upgrade_step_run(&upgrade, &step, error);
}

static void must_run(const char *file)
{
    struct error error = {.code = 0};
    cr_assert(run_step(file, &error), "%s", error.text);
}

Test(upgrade_step, runs_a_statement_once)
{
    must_run("update pgflow.sample set seen = seen + 1");
    must_run("update pgflow.sample set seen = seen + 1");

    expect_answer("select sum(seen) from pgflow.sample", "10");
    expect_answer("select step from pgflow.schema_steps", "sample.sql:1");
}

Test(upgrade_step, runs_another_text_of_the_same_number)
{
    must_run("update pgflow.sample set seen = seen + 1");
    must_run("update pgflow.sample set seen = seen + 10");

    expect_answer("select sum(seen) from pgflow.sample", "110");
    expect_answer("select count(*) from pgflow.schema_steps", "1");
}

Test(upgrade_step, repeats_until_no_row_is_changed)
{
    must_run("-- repeat\nupdate pgflow.sample set seen = 1 where n in"
             " (select n from pgflow.sample where seen = 0 limit 3)");

    expect_answer("select sum(seen) from pgflow.sample", "10");
    expect_answer("select count(*) from pgflow.schema_steps", "1");
}

Test(upgrade_step, writes_nothing_down_where_it_failed)
{
    struct error error;

    cr_assert(not(run_step("update pgflow.sample set seen = 1 / 0", &error)));

    cr_expect(ne(ptr, strstr(error.text, "statement 1 of sample.sql: "), NULL), "%s", error.text);
    cr_expect(ne(ptr, strstr(error.text, "division by zero"), NULL), "%s", error.text);
    expect_answer("select count(*) from pgflow.schema_steps", "0");
}

Test(upgrade_step, builds_an_index_anew_that_was_left_invalid)
{
    static const char statement[] =
        "create unique index concurrently if not exists sample_n on pgflow.sample (n)";
    struct error error;
    run_sql("insert into pgflow.sample (n) values (1)");
    cr_assert(not(run_step(statement, &error)));
    expect_answer("select indisvalid from pg_index where indexrelid = 'pgflow.sample_n'::regclass",
                  "f");
    run_sql("delete from pgflow.sample where ctid in (select max(ctid) from pgflow.sample)");

    must_run(statement);

    expect_answer("select indisvalid from pg_index where indexrelid = 'pgflow.sample_n'::regclass",
                  "t");
}

Test(upgrade_step, keeps_a_new_function_from_the_public)
{
    must_run("create or replace function pgflow._sample() returns int language sql"
             " set search_path = '' as 'select 1'");

    expect_answer("select has_function_privilege('pgflow_client', 'pgflow._sample()', 'execute')",
                  "f");
    expect_answer("select proconfig::text from pg_proc where proname = '_sample'",
                  "{\"search_path=pg_catalog, pg_temp\"}");
}
