/*
 * The program itself against a real PostgreSQL.
 */
#include "base/error.h"
#include "db/sync.h"
#include "log/log.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static char output[65536]; /* of the last run, stdout and stderr */
static struct db_sync *db;

/* Runs pgflowctl in a shell; returns its exit status. */
static int ctl(const char *arguments)
{
    char command[4096];
    snprintf(command, sizeof command, "'%s' %s 2>&1", PGFLOWCTL, arguments);
    FILE *pipe = popen(command, "r");
    size_t size = fread(output, 1, sizeof output - 1, pipe);
    output[size] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool says(const char *text)
{
    return strstr(output, text) != NULL;
}
#define assert_says(text) cr_assert(says(text), "no '%s' in:\n%s", text, output)

static void sql(const char *text)
{
    struct error error = {.code = 0};
    if (db == NULL) {
        struct db_sync_config config = {.name = "test"};
        log_open(2, LOG_FORMAT_LOGFMT, LOG_LEVEL_FATAL);
        db = db_sync_open(&config, &error);
        cr_assert(ne(ptr, db, NULL), "%s", error.text);
    }
    struct db_rows *rows = db_sync_query(db, text, NULL, 0, &error);
    cr_assert(ne(ptr, rows, NULL), "%s", error.text);
    db_rows_destroy(rows);
}

static void deploy(const char *flow)
{
    char text[1024];
    snprintf(text, sizeof text,
             "select pgflow.ensure_deployment('{\"flowSlug\":\"%s\",\"alias\":\"audit\","
             "\"queueMode\":\"routed\",\"routes\":{\"list\":\"audit\"},\"steps\":[{\"slug\":"
             "\"list\",\"stepType\":\"single\",\"dependencies\":[]}],\"options\":{}}')",
             flow);
    sql(text);
}

/* A fresh schema with one flow on the queue audit. */
static void set_up(void)
{
    cr_assert(eq(int, ctl("migrate"), 0), "%s", output);
    sql("select pgflow.delete_flow_and_data(flow_slug) from pgflow.flows");
    sql("delete from pgflow.workers");
    sql("delete from pgflow.worker_functions");
    deploy("audit_v1");
}

static void register_worker(void)
{
    sql("select pgflow.register_worker('11111111-1111-4111-8111-111111111111', 'audit', "
        "'host/audit', array[('audit_v1', 'list')::pgflow.task_pair], '{\"host\": \"box\", "
        "\"pid\": 7}')");
}

static void finish_everything(void)
{
    register_worker();
    sql("select pgflow.finish_tasks('11111111-1111-4111-8111-111111111111', array[c.run_id], "
        "array[c.step_slug], array[c.task_index], array[c.claim_no], array['completed'], "
        "array['{\"n\": 9007199254740993}'], array[null], null) from "
        "pgflow.read_and_claim_tasks('audit', 10, 5, '11111111-1111-4111-8111-111111111111') c");
}

/* The id that the last `start` printed. */
static char run_id[64];
static void start(void)
{
    cr_assert(eq(int, ctl("start audit"), 0), "%s", output);
    snprintf(run_id, sizeof run_id, "%.36s", output);
}

static int ctl_run(const char *format)
{
    char arguments[256];
    snprintf(arguments, sizeof arguments, format, run_id);
    return ctl(arguments);
}

TestSuite(commands, .init = set_up);

Test(commands, migrate_tells_what_it_did_and_does_it_once)
{
    cr_assert(eq(int, ctl("migrate"), 0));
    assert_says("nothing to do");
    cr_assert(eq(int, ctl("migrate --status --json"), 0));
    assert_says("{\"before\": 2, \"after\": 2, \"program\": 2}");
}

Test(commands, a_missing_schema_is_78_with_the_remedy)
{
    sql("drop database if exists bare");
    sql("create database bare");

    cr_assert(eq(int, ctl("runs --database \"host=$PGHOST dbname=bare\""), ERROR_CONFIG));
    assert_says("pgflowctl migrate");
    cr_assert(eq(int, ctl("migrate --status --database \"host=$PGHOST dbname=bare\""), 1));
}

Test(commands, a_schema_of_somebody_else_is_refused)
{
    sql("drop database if exists foreign_schema");
    sql("create database foreign_schema");
    struct db_sync_config config = {.name = "test"};
    struct error error;
    char url[256];
    snprintf(url, sizeof url, "host=%s dbname=foreign_schema", getenv("PGHOST"));
    config.url = url;
    struct db_sync *other = db_sync_open(&config, &error);
    db_rows_destroy(db_sync_query(other, "create schema pgflow", NULL, 0, &error));
    db_sync_close(other);

    cr_assert(
        eq(int, ctl("migrate --database \"host=$PGHOST dbname=foreign_schema\""), ERROR_CONFIG));
    assert_says("was not made by pgflow-host");
}

Test(commands, database_comes_from_option_environment_and_file)
{
    cr_assert(eq(int, ctl("--database dbname=nowhere runs"), ERROR_CONFIG));
    assert_says("nowhere");
    (void)setenv("PGFLOW_DATABASE", "dbname=from_environment", 1);
    cr_assert(eq(int, ctl("runs"), ERROR_CONFIG));
    assert_says("from_environment");
    (void)unsetenv("PGFLOW_DATABASE");
    cr_assert(eq(int, ctl("runs --config /nonexistent"), ERROR_USAGE));
    FILE *file = fopen("/tmp/pgflowctl-test.conf", "w");
    fprintf(file, "queue = audit\ndatabase = dbname=from_file\n");
    (void)fclose(file);
    cr_assert(eq(int, ctl("runs --config /tmp/pgflowctl-test.conf"), ERROR_CONFIG));
    assert_says("from_file");
    (void)remove("/tmp/pgflowctl-test.conf");
}

Test(commands, an_unreachable_database_is_69_and_shows_no_password)
{
    cr_assert(eq(int, ctl("runs --database postgres://ann:s3cret@/x?host=/nonexistent"),
                 ERROR_UNAVAILABLE));
    assert_says("could not be reached");
    cr_assert(not(says("s3cret")));
}

Test(commands, start_takes_input_from_argument_file_and_stdin)
{
    cr_assert(eq(int, ctl("start audit --input '{\"a\": 1}'"), 0));
    FILE *file = fopen("/tmp/pgflowctl-test.json", "w");
    fprintf(file, "[2]\n");
    (void)fclose(file);
    cr_assert(eq(int, ctl("start audit_v1 --input @/tmp/pgflowctl-test.json"), 0), "%s", output);
    cr_assert(eq(int, ctl("start audit --input - < /tmp/pgflowctl-test.json"), 0), "%s", output);
    (void)remove("/tmp/pgflowctl-test.json");

    cr_assert(eq(int, ctl("start audit --input '{\"a\": 01}'"), ERROR_USAGE));
    assert_says("not JSON: a number with a leading zero at byte 7");
    cr_assert(eq(int, ctl("start audit --input @/nonexistent"), ERROR_USAGE));
    assert_says("/nonexistent");
}

Test(commands, start_offers_the_nearest_flow)
{
    cr_assert(eq(int, ctl("start audti"), ERROR_USAGE));
    assert_says("did you mean 'audit'?");
}

Test(commands, start_refuses_a_run_id_twice)
{
    static const char twice[] = "start audit --run-id 22222222-2222-4222-8222-222222222222";
    cr_assert(eq(int, ctl(twice), 0));

    cr_assert(eq(int, ctl(twice), ERROR_USAGE));
    assert_says("22222222-2222-4222-8222-222222222222");
    cr_assert(eq(int, ctl("start audit --run-id 7"), ERROR_USAGE));
}

Test(commands, waiting_gives_up_with_1)
{
    cr_assert(eq(int, ctl("start audit --wait --timeout 1"), 1));
    assert_says("has not ended within 1 s");
}

Test(commands, run_shows_steps_and_output)
{
    start();
    cr_assert(eq(int, ctl_run("run %s --output"), 1));
    assert_says("has no output");

    finish_everything();
    cr_assert(eq(int, ctl_run("run %s"), 0));
    assert_says("completed");
    assert_says("list");
    cr_assert(eq(int, ctl_run("run %s --output"), 0));
    cr_assert(eq(str, output, "{\"list\": {\"n\": 9007199254740993}}\n"));
    cr_assert(eq(int, ctl_run("run %s --json"), 0));
    assert_says("\"status\": \"completed\"");
}

Test(commands, an_unknown_run_is_an_answer_and_a_malformed_id_a_wrong_argument)
{
    cr_assert(eq(int, ctl("run 33333333-3333-4333-8333-333333333333"), ERROR_ANSWER_NO));
    assert_says("there is no run");
    cr_assert(eq(int, ctl("run seven"), ERROR_USAGE));
}

Test(commands, runs_can_be_narrowed)
{
    start();
    cr_assert(eq(int, ctl("runs --flow audit --status started --limit 1"), 0));
    assert_says(run_id);
    cr_assert(eq(int, ctl("runs --status completed"), 0));
    cr_assert(eq(str, output, "no runs\n"));
    cr_assert(eq(int, ctl("runs --status complete"), ERROR_USAGE));
    assert_says("did you mean completed");
}

Test(commands, cancel_is_yes_once)
{
    start();
    cr_assert(eq(int, ctl_run("cancel %s --reason 'wrong input'"), 0));
    cr_assert(eq(int, ctl_run("cancel %s"), 1));
    cr_assert(eq(int, ctl_run("run %s"), 0));
    assert_says("cancelled");
}

Test(commands, workers_and_functions_tell_who_serves)
{
    register_worker();
    cr_assert(eq(int, ctl("workers"), 0));
    assert_says("working");
    assert_says("audit_v1");
    cr_assert(eq(int, ctl("functions disable host/audit"), 0));
    cr_assert(eq(int, ctl("functions"), 0));
    assert_says("disabled");
    cr_assert(eq(int, ctl("functions deprecate host/audit"), 0));
    cr_assert(eq(int, ctl("workers --json"), 0));
    assert_says("\"state\": \"finishing\"");
    cr_assert(eq(int, ctl("functions enable host/audit host/nope"), ERROR_USAGE));
    assert_says("host/nope");
    cr_assert(eq(int, ctl("functions enable host/audit"), 0));
}

Test(commands, coverage_is_a_yes_or_no_question)
{
    cr_assert(eq(int, ctl("coverage audit"), 1));
    assert_says("no worker");
    register_worker();
    cr_assert(eq(int, ctl("coverage AUDIT"), 0), "%s", output);
    deploy("audit_v2");
    cr_assert(eq(int, ctl("activate audit audit_v2 --force"), 0));
    cr_assert(eq(int, ctl("coverage audit --json"), 1));
    assert_says("\"step\": \"list\"");
    cr_assert(eq(int, ctl("coverage audi"), ERROR_USAGE));
    assert_says("did you mean 'audit'?");
}

Test(commands, activate_is_refused_while_workers_are_missing)
{
    deploy("audit_v2");
    cr_assert(eq(int, ctl("activate audit audit_v2"), 1));
    assert_says("audit");
    cr_assert(eq(int, ctl("activate audit audit_v3"), ERROR_USAGE));
    assert_says("did you mean 'audit_v");
    cr_assert(eq(int, ctl("activate audit audit_v2 --force"), 0));
    assert_says("audit_v2 (before: audit_v1)");
    cr_assert(eq(int, ctl("aliases"), 0));
    assert_says("active");
}

Test(commands, drain_says_when_it_is_safe)
{
    start();
    cr_assert(eq(int, ctl("drain audit_v1"), 1));
    assert_says("1 run and 1 task left");
    deploy("audit_v2");
    cr_assert(eq(int, ctl("activate audit audit_v2 --force"), 0));
    finish_everything();
    cr_assert(eq(int, ctl("drain audit_v1 --wait --timeout 20"), 0), "%s", output);
    assert_says("safe to retire");
    cr_assert(eq(int, ctl("drain audit_v1 --json"), 0));
    assert_says("\"safe_to_retire\": true");
}

Test(commands, inspect_names_a_file_that_is_not_there)
{
    cr_assert(eq(int, ctl("inspect ./nope.so"), ERROR_CONFIG));
    assert_says("./nope.so");
}
