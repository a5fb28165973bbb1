/*
 * The connection layer against a real PostgreSQL.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

static struct fixture fixture;

Test(connection, comes_up_and_answers)
{
    struct answer answer = {0};
    fixture_up(&fixture, fixture_config(&fixture));

    fixture_send(&fixture, &answer, "select 'a' || $1", "b");
    UNTIL(&fixture, answer.count == 1);

    cr_assert(eq(int, answer.outcome, DB_OK));
    cr_assert(eq(str, answer.value, "ab"));
    free(answer.value);
    fixture_close(&fixture);
}

Test(connection, session_is_set_for_the_claims)
{
    struct answer answer = {0};
    free(fixture_admin(&fixture, "alter role postgres set default_transaction_isolation = "
                                 "'repeatable read'"));
    free(fixture_admin(&fixture, "alter role postgres set statement_timeout = '5s'"));
    fixture_up(&fixture, fixture_config(&fixture));

    fixture_send(&fixture, &answer,
                 "select concat_ws(' ', current_setting('transaction_isolation'), "
                 "current_setting('statement_timeout'), current_setting('application_name'))",
                 NULL);
    UNTIL(&fixture, answer.count == 1);

    cr_assert(eq(str, answer.value, "read committed 27s pgflow-test"));
    free(answer.value);
    free(fixture_admin(&fixture, "alter role postgres reset all"));
    fixture_close(&fixture);
}

Test(connection, answers_come_in_the_order_of_the_calls)
{
    static const struct statement works = {"works", "select 1"};
    static const struct statement fails = {"fails", "select 1/0"};
    struct answer answers[50] = {0};
    fixture_up(&fixture, fixture_config(&fixture));

    for (int i = 0; i < 50; i++) {
        answers[i].before = i > 0 ? &answers[i - 1] : NULL;
        fixture_send_statement(&fixture, &answers[i], i % 7 == 3 ? &fails : &works, NULL);
    }
    cr_assert(eq(sz, db_calls_pending(fixture.db), 50));
    UNTIL(&fixture, answers[49].count == 1);

    for (int i = 0; i < 50; i++) {
        cr_expect(eq(int, answers[i].count, 1));
        cr_expect(eq(int, answers[i].outcome, i % 7 == 3 ? DB_ERROR : DB_OK));
        free(answers[i].value);
    }
    fixture_close(&fixture);
}

Test(connection, an_error_is_described_without_the_parameters)
{
    struct answer answer = {0};
    fixture_up(&fixture, fixture_config(&fixture));

    fixture_send(&fixture, &answer, "select $1::jsonb", "{\"key\": s3cret}");
    UNTIL(&fixture, answer.count == 1);

    cr_assert(eq(int, answer.outcome, DB_ERROR));
    cr_assert(eq(str, answer.sqlstate, "22P02"));
    cr_assert(answer.permanent);
    cr_assert(eq(ptr, strstr(answer.text, "s3cret"), NULL), "%s", answer.text);
    fixture_close(&fixture);
}

Test(connection, an_error_at_commit_is_an_error_of_the_call)
{
    struct answer answer = {0};
    free(fixture_admin(&fixture, "create table parent (id int primary key)"));
    free(fixture_admin(&fixture,
                       "create table child (id int references parent deferrable initially "
                       "deferred)"));
    fixture_up(&fixture, fixture_config(&fixture));

    fixture_send(&fixture, &answer, "insert into child values (1) returning id", NULL);
    UNTIL(&fixture, answer.count == 1);

    cr_assert(eq(int, answer.outcome, DB_ERROR));
    cr_assert(eq(str, answer.sqlstate, "23503"));
    fixture_close(&fixture);
}

/* libpq answers a COPY that nobody reads for ever; no function of ours starts one. */
Test(connection, a_copy_that_nobody_asked_for_costs_the_connection)
{
    struct answer answer = {0};
    fixture_up(&fixture, fixture_config(&fixture));

    fixture_send(&fixture, &answer, "copy (select 1) to stdout", NULL);
    UNTIL(&fixture, answer.count == 1);
    UNTIL(&fixture, fixture.ups == 2);

    cr_assert(eq(int, answer.outcome, DB_LOST));
    cr_assert(eq(str, fixture.reason, "the server's answers are out of step"));
    fixture_close(&fixture);
}

Test(connection, a_lost_backend_loses_the_call_and_comes_back)
{
    struct answer lost = {0};
    struct answer unsent = {0};
    struct answer after = {0};
    fixture_up(&fixture, fixture_config(&fixture));
    fixture_send(&fixture, &lost, "select pg_sleep(60)", NULL);
    (void)uv_run(&fixture.loop, UV_RUN_NOWAIT);

    fixture_terminate(&fixture, 0);
    UNTIL(&fixture, fixture.downs == 1);
    cr_assert(not(db_is_up(fixture.db)));
    fixture_send(&fixture, &unsent, "select 1", NULL);
    cr_assert(eq(int, unsent.count, 0), "answered from inside the call");
    UNTIL(&fixture, fixture.ups == 2);
    fixture_send(&fixture, &after, "select 1", NULL);
    UNTIL(&fixture, after.count == 1);

    cr_assert(eq(int, lost.count, 1));
    cr_assert(eq(int, lost.outcome, DB_LOST));
    cr_assert(eq(str, fixture.reason, "terminating connection due to administrator command"));
    cr_assert(eq(int, unsent.outcome, DB_UNSENT));
    cr_assert(not(unsent.permanent));
    cr_assert(eq(int, after.outcome, DB_OK));
    free(after.value);
    fixture_close(&fixture);
}

Test(connection, the_server_ends_a_statement_before_our_deadline)
{
    struct answer answer = {0};
    struct db_config config = fixture_config(&fixture);
    config.statement_deadline_ms = 1000;
    fixture_up(&fixture, config);

    fixture_send(&fixture, &answer, "select pg_sleep(60)", NULL);
    UNTIL(&fixture, answer.count == 1);

    cr_assert(eq(int, answer.outcome, DB_ERROR));
    cr_assert(eq(str, answer.sqlstate, "57014"));
    cr_assert(not(answer.permanent));
    cr_assert(eq(int, fixture.downs, 0));
    fixture_close(&fixture);
}

/* Behind a pooler there is no statement_timeout of ours. */
Test(connection, a_statement_past_its_deadline_costs_the_connection)
{
    struct answer slow = {0};
    struct answer behind = {0};
    struct db_config config = fixture_config(&fixture);
    config.statement_deadline_ms = 300;
    config.pooled = true;
    fixture_up(&fixture, config);

    fixture_send(&fixture, &slow, "select pg_sleep(3)", NULL);
    fixture_send(&fixture, &behind, "select 1", NULL);
    UNTIL(&fixture, behind.count == 1);

    cr_assert(eq(int, slow.outcome, DB_LOST));
    cr_assert(eq(int, behind.outcome, DB_LOST));
    cr_assert(eq(int, fixture.downs, 1));
    cr_assert(ne(ptr, strstr(fixture.reason, "deadline"), NULL));
    UNTIL(&fixture, fixture.ups == 2);
    fixture_close(&fixture);
}

Test(connection, an_answer_that_waited_while_we_slept_is_taken)
{
    struct answer answer = {0};
    struct db_config config = fixture_config(&fixture);
    config.statement_deadline_ms = 200;
    fixture_up(&fixture, config);
    fixture_send(&fixture, &answer, "select 1", NULL);
    (void)uv_run(&fixture.loop, UV_RUN_NOWAIT);

    free(fixture_admin(&fixture, "select pg_sleep(0.4)"));
    UNTIL(&fixture, answer.count == 1);

    cr_assert(eq(int, answer.outcome, DB_OK));
    cr_assert(eq(int, fixture.downs, 0));
    free(answer.value);
    fixture_close(&fixture);
}

Test(connection, large_payloads_pass_both_ways_in_one_pipeline)
{
    size_t size = 16 * (size_t)LIMIT_MIB;
    char *payload = malloc(size + 1);
    static const struct statement large = {"large", "select $1::text"};
    struct answer answers[3] = {0};
    memset(payload, 'x', size);
    payload[size] = '\0';
    fixture_up(&fixture, fixture_config(&fixture));

    for (int i = 0; i < 3; i++) {
        payload[i] = (char)('0' + i);
        fixture_send_statement(&fixture, &answers[i], &large, payload);
    }
    UNTIL(&fixture, answers[2].count == 1);

    for (int i = 0; i < 3; i++) {
        cr_assert(eq(int, answers[i].outcome, DB_OK));
        cr_assert(eq(sz, answers[i].value_size, size));
        cr_assert(eq(chr, answers[i].value[i], (char)('0' + i)));
        free(answers[i].value);
    }
    free(payload);
    fixture_close(&fixture);
}

Test(connection, notifications_wake_the_owner)
{
    struct db_config config = fixture_config(&fixture);
    config.listen_queue = "audit";
    fixture_up(&fixture, config);
    UNTIL(&fixture, fixture.notifications == 1); /* what may have been missed */

    free(fixture_admin(&fixture, "select pg_notify('pgflow_q_audit', '')"));
    free(fixture_admin(&fixture, "select pg_notify('pgflow_q_other', '')"));
    UNTIL(&fixture, fixture.notifications == 2);

    fixture_close(&fixture);
}

Test(connection, listens_again_after_it_was_lost)
{
    struct db_config config = fixture_config(&fixture);
    config.listen_queue = "odd\"name";
    fixture_up(&fixture, config);
    UNTIL(&fixture, fixture.notifications == 1);

    fixture_terminate(&fixture, 0);
    UNTIL(&fixture, fixture.notifications == 2);
    free(fixture_admin(&fixture, "select pg_notify('pgflow_q_odd\"name', '')"));
    UNTIL(&fixture, fixture.notifications == 3);

    fixture_close(&fixture);
}

static void on_heartbeat(void *ctx, const struct db_status *status,
                         const struct db_heartbeat *result)
{
    int *count = ctx;
    cr_expect(eq(int, status->outcome, DB_OK), "%s", status->text);
    cr_expect(result->is_deprecated, "an unknown worker");
    ++*count;
}

Test(connection, heartbeats_go_on_when_the_control_connection_is_lost)
{
    int heartbeats = 0;
    struct db_config config = fixture_config(&fixture);
    config.connections = 2;
    fixture_migrate(&fixture);
    fixture_up(&fixture, config);

    fixture_terminate(&fixture, 0);
    UNTIL(&fixture, fixture.db->connections[0].state != CONNECTION_UP);
    db_heartbeat(fixture.db, "00000000-0000-4000-8000-000000000001", (struct db_texts){NULL, 0},
                 (struct db_pairs){NULL, 0}, on_heartbeat, &heartbeats);
    UNTIL(&fixture, heartbeats == 1);
    UNTIL(&fixture, fixture.db->connections[0].state == CONNECTION_UP);

    cr_assert(eq(int, fixture.downs, 0));
    fixture_close(&fixture);
}

Test(connection, a_read_only_server_is_left)
{
    struct answer answer = {0};
    struct db_config config = fixture_config(&fixture);
    config.connections = 2;
    fixture_up(&fixture, config);

    fixture_send(&fixture, &answer,
                 "do $$ begin raise exception 'x' using errcode = '25006'; end $$", NULL);
    UNTIL(&fixture, fixture.downs == 1);
    UNTIL(&fixture, fixture.ups == 2);

    cr_assert(eq(str, answer.sqlstate, "25006"));
    cr_assert(not(answer.permanent));
    cr_assert(ne(ptr, strstr(fixture.reason, "read-only"), NULL));
    fixture_close(&fixture);
}

Test(connection, a_server_that_is_read_only_at_the_start_is_waited_for)
{
    free(fixture_admin(&fixture, "alter role postgres set default_transaction_read_only = on"));
    struct db_config config = fixture_config(&fixture);
    config.connect_timeout_s = 1;
    fixture_open(&fixture, NULL, config);

    UNTIL(&fixture, fixture.has_failed);

    cr_assert(eq(int, fixture.fatal.code, ERROR_UNAVAILABLE));
    cr_assert(ne(ptr, strstr(fixture.fatal.text, "read-only"), NULL), "%s", fixture.fatal.text);
    fixture_close(&fixture);
    fixture.admin = NULL;
    struct db_sync_config admin = {.name = "admin",
                                   .url = "options='-c default_transaction_read_only=off'"};
    fixture.admin = db_sync_open(&admin, &fixture.fatal);
    free(fixture_admin(&fixture, "alter role postgres reset all"));
    db_sync_close(fixture.admin);
}

Test(connection, a_lost_race_is_run_again)
{
    static const struct statement race = {"race", "select race()"};
    struct answer answer = {0};
    free(fixture_admin(&fixture, "create sequence tries"));
    free(fixture_admin(&fixture,
                       "create function race() returns int language plpgsql as $$ declare n int := "
                       "nextval('tries'); begin if n < 3 then raise exception 'race' using errcode "
                       "= '40001'; end if; return n; end $$"));
    fixture_up(&fixture, fixture_config(&fixture));

    fixture_send_statement(&fixture, &answer, &race, NULL);
    UNTIL(&fixture, answer.count == 1);

    cr_assert(eq(int, answer.outcome, DB_OK), "%s", answer.text);
    cr_assert(eq(str, answer.value, "3"));
    free(answer.value);
    fixture_close(&fixture);
}

Test(connection, a_race_that_is_always_lost_ends)
{
    struct answer answer = {0};
    fixture_up(&fixture, fixture_config(&fixture));

    fixture_send(&fixture, &answer,
                 "do $$ begin raise exception 'race' using errcode = '40P01'; end $$", NULL);
    UNTIL(&fixture, answer.count == 1);

    cr_assert(eq(int, answer.outcome, DB_ERROR));
    cr_assert(not(answer.permanent));
    fixture_close(&fixture);
}

Test(connection, a_cached_plan_whose_result_changed_is_prepared_anew)
{
    static const struct statement plan = {"plan", "select * from planned"};
    struct answer answers[3] = {0};
    free(fixture_admin(&fixture, "create table planned as select 1 as a"));
    fixture_up(&fixture, fixture_config(&fixture));
    fixture_send_statement(&fixture, &answers[0], &plan, NULL);
    UNTIL(&fixture, answers[0].count == 1);

    free(fixture_admin(&fixture, "alter table planned alter a type text using 'x'"));
    fixture_send_statement(&fixture, &answers[1], &plan, NULL);
    UNTIL(&fixture, answers[1].count == 1);
    fixture_send_statement(&fixture, &answers[2], &plan, NULL);
    UNTIL(&fixture, answers[2].count == 1);

    cr_assert(eq(str, answers[0].value, "1"));
    cr_assert(eq(int, answers[1].outcome, DB_OK), "%s", answers[1].text);
    cr_assert(eq(str, answers[1].value, "x"));
    cr_assert(eq(str, answers[2].value, "x"));
    for (int i = 0; i < 3; i++)
        free(answers[i].value);
    fixture_close(&fixture);
}

Test(connection, pooled_mode_names_no_statement_and_sets_nothing)
{
    static const struct statement statement = {"named", "select 1"};
    struct answer named = {0};
    struct answer left = {0};
    struct db_config config = fixture_config(&fixture);
    config.pooled = true;
    config.listen_queue = "audit";
    fixture_up(&fixture, config);

    fixture_send_statement(&fixture, &named, &statement, NULL);
    fixture_send(&fixture, &left,
                 "select concat_ws(' ', (select count(*) from pg_prepared_statements), (select "
                 "count(*) from pg_listening_channels()), current_setting('statement_timeout'))",
                 NULL);
    UNTIL(&fixture, left.count == 1);

    cr_assert(eq(str, left.value, "0 0 0"));
    cr_assert(eq(int, fixture.notifications, 0));
    free(named.value);
    free(left.value);
    fixture_close(&fixture);
}

Test(connection, pooled_mode_refuses_an_isolation_it_cannot_change)
{
    free(fixture_admin(&fixture, "alter role postgres set default_transaction_isolation = "
                                 "serializable"));
    struct db_config config = fixture_config(&fixture);
    config.pooled = true;
    fixture_open(&fixture, NULL, config);

    UNTIL(&fixture, fixture.has_failed);

    cr_assert(eq(int, fixture.fatal.code, ERROR_CONFIG));
    cr_assert(ne(ptr, strstr(fixture.fatal.text, "read committed"), NULL));
    free(fixture_admin(&fixture, "alter role postgres reset all"));
    fixture_close(&fixture);
}

Test(connection, closing_answers_every_call_once)
{
    struct answer answers[3] = {0};
    fixture_up(&fixture, fixture_config(&fixture));
    for (int i = 0; i < 3; i++)
        fixture_send(&fixture, &answers[i], "select pg_sleep(60)", NULL);

    fixture_close(&fixture);

    for (int i = 0; i < 3; i++) {
        cr_expect(eq(int, answers[i].count, 1));
        cr_expect(eq(int, answers[i].outcome, DB_LOST));
    }
}

Test(connection, too_many_calls_are_turned_away)
{
    struct answer answers[LIMIT_DB_CALLS_QUEUED + 1] = {0};
    fixture_up(&fixture, fixture_config(&fixture));

    for (int i = 0; i <= LIMIT_DB_CALLS_QUEUED; i++)
        fixture_send(&fixture, &answers[i], "select 1", NULL);
    UNTIL(&fixture, answers[LIMIT_DB_CALLS_QUEUED].count == 1 &&
                        answers[LIMIT_DB_CALLS_QUEUED - 1].count == 1);

    cr_assert(eq(int, answers[LIMIT_DB_CALLS_QUEUED].outcome, DB_UNSENT));
    for (int i = 0; i < LIMIT_DB_CALLS_QUEUED; i++) {
        cr_expect(eq(int, answers[i].outcome, DB_OK));
        free(answers[i].value);
    }
    fixture_close(&fixture);
}

static void on_done(void *ctx, const struct db_status *status)
{
    *(enum db_outcome *)ctx = status->outcome;
}

Test(connection, check_leaves_nothing_behind)
{
    enum db_outcome begun = DB_LOST;
    enum db_outcome ended = DB_LOST;
    struct answer made = {0};
    struct answer failed = {0};
    struct answer refused = {0};
    struct db_config config = fixture_config(&fixture);
    config.connections = 2;
    fixture_up(&fixture, config);

    db_check_begin(fixture.db, on_done, &begun);
    fixture_send(&fixture, &made, "create table left_behind ()", NULL);
    fixture_send(&fixture, &failed, "select 1/0", NULL);
    fixture_send(&fixture, &refused, "select 1", NULL);
    db_check_end(fixture.db, on_done, &ended);
    UNTIL(&fixture, ended == DB_OK);

    cr_assert(eq(int, begun, DB_OK));
    cr_assert(eq(int, made.outcome, DB_OK), "%s", made.text);
    cr_assert(eq(str, failed.sqlstate, "22012"));
    cr_assert(eq(str, refused.sqlstate, "25P02"));
    char *found = fixture_admin(&fixture, "select to_regclass('left_behind')");
    cr_assert(eq(ptr, found, NULL));
    fixture_close(&fixture);
}

Test(connection, check_that_lost_its_connection_commits_nothing)
{
    enum db_outcome begun = DB_LOST;
    struct answer later = {0};
    fixture_up(&fixture, fixture_config(&fixture));
    db_check_begin(fixture.db, on_done, &begun);
    UNTIL(&fixture, begun == DB_OK);

    fixture_terminate(&fixture, 0);
    UNTIL(&fixture, fixture.ups == 2);
    fixture_send(&fixture, &later, "create table left_behind ()", NULL);
    UNTIL(&fixture, later.count == 1);

    cr_assert(eq(int, later.outcome, DB_UNSENT));
    cr_assert(later.permanent);
    fixture_close(&fixture);
}
