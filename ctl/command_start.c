/*
 * pgflowctl start FLOW: starts a run, and can wait for its end.
 */
#include "base/clock.h"
#include "ctl/command.h"
#include "ctl/json_option.h"
#include "ctl/plain.h"
#include "ctl/query.h"

#include "base/buf.h"
#include "base/text.h"
#include "db/sync.h"

#include <stdio.h>
#include <string.h>

/* Pauses between two looks at a run: short at first, so that a short run costs
 * no second. */
enum { FIRST_PAUSE_MS = 20, LONGEST_PAUSE_MS = 500 };

static bool start_run(struct invocation *invocation, const char *input, char *run_id, size_t size,
                      struct error *error)
{
    static const char plain_sql[] = "select run_id from pgflow.start_flow($1, $2::jsonb, "
                                    "coalesce($3::uuid, gen_random_uuid()))";
    static const char keyed_sql[] = "select run_id from pgflow.start_flow($1, $2::jsonb, $3::uuid,"
                                    " jsonb_build_object('idempotencyKey', $4::text))";
    const char *given = invocation_value(invocation, "run-id");
    const char *key = invocation_value(invocation, "idempotency-key");
    const char *values[] = {invocation->arguments[0], input, given, key};
    if (given != NULL && !text_is_uuid(given))
        return error_set(error, ERROR_USAGE, "--run-id '%s' is no UUID", given);
    struct db_rows *rows = query_rows(invocation->db, key != NULL ? keyed_sql : plain_sql, values,
                                      key != NULL ? 4 : 3, error);
    if (rows == NULL) {
        query_offer_flow(invocation->db, invocation->arguments[0], error);
        return false;
    }
    const char *text = db_rows_count(rows) == 1 ? db_rows_text(rows, 0, 0) : NULL;
    (void)snprintf(run_id, size, "%s", text != NULL ? text : "");
    db_rows_destroy(rows);
    return text != NULL || error_set(error, ERROR_INTERNAL, "pgflow.start_flow gave no run");
}

enum { STATUS, OUTPUT, ERRORS, SECONDS };
/* By the tables, for who may read them: the other way builds the whole run at each look. */
static const char look_at_tables_sql[] =
    "select r.status, case when r.status = 'completed' then r.output end,"
    " case when r.status <> 'started' then (select string_agg(s.step_slug || ': ' ||"
    "   translate(s.error_message, e'\\n\\r\\t', '   '), e'\\n' order by s.failed_at) from "
    "pgflow.step_states s"
    "   where s.run_id = r.run_id and s.status = 'failed') end,"
    " round(extract(epoch from coalesce(r.completed_at, r.failed_at) - r.started_at), 3)"
    " from pgflow.runs r where r.run_id = $1::uuid";
static const char look_as_client_sql[] =
    "select g.run ->> 'status', case when g.run ->> 'status' = 'completed' then g.run -> 'output' "
    "end,"
    " case when g.run ->> 'status' <> 'started' then (select string_agg((s ->> 'step_slug') || ': '"
    "   || (s ->> 'error_message'), e'\n' order by (s ->> 'failed_at')::timestamptz)"
    "   from jsonb_array_elements(g.steps) s where s ->> 'status' = 'failed') end,"
    " round(extract(epoch from coalesce((g.run ->> 'completed_at')::timestamptz,"
    "   (g.run ->> 'failed_at')::timestamptz) - (g.run ->> 'started_at')::timestamptz), 3)"
    " from (select j -> 'run' || case when j -> 'run' ? 'cancelled'"
    "     then '{\"status\": \"cancelled\"}'::jsonb else '{}' end as run, j -> 'steps' as steps"
    "   from pgflow.get_run_with_states($1::uuid) j where j is not null) g";

/* How this login may follow a run; NULL: not at all, and the error is set. Asked before a run
 * is started: one that cannot be followed would be started again by whoever saw it fail. */
static const char *choose_look(struct invocation *invocation, struct error *error)
{
    static const char rights_sql[] =
        "select (select has_table_privilege(c.oid, 'select') from pg_class c"
        "   where c.relnamespace = to_regnamespace('pgflow') and c.relname = 'runs'),"
        " (select bool_or(has_function_privilege(p.oid, 'execute')) from pg_proc p"
        "   where p.pronamespace = to_regnamespace('pgflow')"
        "     and p.proname = 'get_run_with_states'), session_user";
    struct db_rows *rows = query_rows(invocation->db, rights_sql, NULL, 0, error);
    if (rows == NULL)
        return NULL;
    const char *tables = db_rows_text(rows, 0, 0);
    const char *client = db_rows_text(rows, 0, 1);
    const char *look = tables != NULL && *tables == 't' ? look_at_tables_sql : look_as_client_sql;
    if (client != NULL && *client == 'f' && look == look_as_client_sql) {
        (void)error_set(error, ERROR_CONFIG,
                        "nothing was started: user \"%s\" may not follow a run; start it without "
                        "--wait, or: grant pgflow_client to \"%s\"",
                        db_rows_text(rows, 0, 2), db_rows_text(rows, 0, 2));
        look = NULL;
    }
    db_rows_destroy(rows);
    return look;
}

/* The row of a run that has ended. A lost connection is waited for: the run
 * goes on without us. */
static struct db_rows *wait_for_end(struct invocation *invocation, const char *look,
                                    const char *run_id, int timeout_s, struct error *error)
{
    uint64_t until_ms = clock_steady_ms() + (uint64_t)timeout_s * 1000;
    for (uint32_t looks = 0;; looks++) {
        struct db_rows *rows = query_rows(invocation->db, look, &run_id, 1, error);
        if (rows == NULL && error->code != ERROR_UNAVAILABLE)
            return NULL;
        if (rows != NULL && db_rows_count(rows) == 0) {
            (void)error_set(error, ERROR_ANSWER_NO, "run %s was deleted", run_id);
            db_rows_destroy(rows);
            return NULL;
        }
        if (rows != NULL && strcmp(db_rows_text(rows, 0, STATUS), "started") != 0)
            return rows;
        db_rows_destroy(rows);
        if (timeout_s > 0 && clock_steady_ms() >= until_ms) {
            (void)error_set(error, ERROR_ANSWER_NO, "run %s has not ended within %d s", run_id,
                            timeout_s);
            return NULL;
        }
        (void)db_sync_wait(invocation->db,
                           (int)clock_backoff_ms(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, looks));
    }
}

/* What handlers wrote, a line a step. */
static void print_errors(const char *run_id, const char *status, const char *errors)
{
    fprintf(stderr, "pgflowctl: run %s is %s\n", run_id, status);
    plain_print(stderr, errors);
    (void)fputc('\n', stderr);
}

static void print_end(const struct invocation *invocation, const char *run_id,
                      const struct db_rows *end)
{
    const char *status = db_rows_text(end, 0, STATUS);
    const char *output = db_rows_text(end, 0, OUTPUT);
    const char *errors = db_rows_text(end, 0, ERRORS);
    if (invocation->json) {
        printf("{\"run\": \"%s\", \"status\": \"%s\", \"seconds\": %s, \"output\": ", run_id,
               status, db_rows_text(end, 0, SECONDS));
        plain_print_json(stdout, output != NULL ? output : "null");
        printf("}\n");
    } else if (invocation_value(invocation, "output") == NULL)
        printf("%s after %s s\n", status, db_rows_text(end, 0, SECONDS));
    else if (output != NULL) {
        plain_print_json(stdout, output);
        printf("\n");
    }
    if (errors != NULL)
        print_errors(run_id, status, errors);
}

static int wait_and_print(struct invocation *invocation, const char *look, const char *run_id,
                          int timeout_s, struct error *error)
{
    (void)fflush(stdout);
    struct db_rows *end = wait_for_end(invocation, look, run_id, timeout_s, error);
    if (end == NULL)
        return FAILED;
    bool completed = strcmp(db_rows_text(end, 0, STATUS), "completed") == 0;
    print_end(invocation, run_id, end);
    db_rows_destroy(end);
    return completed ? DONE : ERROR_ANSWER_NO;
}

static int execute(struct invocation *invocation, struct error *error)
{
    char run_id[LIMIT_UUID_TEXT + 1] = "";
    struct buf input;
    int timeout_s = 0;
    bool wait = invocation_value(invocation, "wait") != NULL;
    bool only_output = invocation_value(invocation, "output") != NULL;
    if (!wait && (only_output || invocation_value(invocation, "timeout") != NULL)) {
        (void)error_set(error, ERROR_USAGE, "--output and --timeout go with --wait");
        return FAILED;
    }
    const char *look = wait ? choose_look(invocation, error) : NULL;
    if (wait && look == NULL)
        return FAILED;
    buf_init(&input, (size_t)LIMIT_PAYLOAD_MAX_MIB * LIMIT_MIB);
    bool started = invocation_number(invocation, "timeout", 1, 864000, 0, &timeout_s, error) &&
                   json_option_read(invocation, "input", "{}", &input, error) &&
                   start_run(invocation, input.data, run_id, sizeof run_id, error);
    buf_free(&input);
    if (!started)
        return FAILED;
    if (invocation->json && !wait)
        printf("{\"run\": \"%s\"}\n", run_id);
    else if (!invocation->json && !only_output)
        printf("%s\n", run_id);
    return wait ? wait_and_print(invocation, look, run_id, timeout_s, error) : DONE;
}

const struct command command_start = {
    .name = "start",
    .arguments = "FLOW",
    .summary = "start a run of an alias or of a concrete flow",
    .help =
        "Prints the id of the new run. If a run with the same --idempotency-key exists, it\n"
        "prints that run's id and starts none. With --wait it stays until the run has ended.\n"
        "It then exits with 0 if the run completed, and with 1 if it failed or was cancelled.\n",
    .least = 1,
    .most = 1,
    .needs_database = true,
    .examples = "pgflowctl start audit --input '{\"path\": \"/usr\"}'\n"
                "id=$(pgflowctl start audit --input @input.json)\n"
                "pgflowctl start audit --wait --output > report.json\n",
    .run = execute,
    .options = {{"input", "JSON|@FILE|-", "the run's input (default: {}); - reads stdin"},
                {"run-id", "UUID", "the id of the new run (default: a random one)"},
                {"idempotency-key", "KEY",
                 "the same key is the same start: repeat it without harm"},
                {"wait", NULL, "until the run has ended"},
                {"output", NULL, "with --wait: print only the run's output"},
                {"timeout", "S", "with --wait: give up after S seconds, exit 1"}},
};
