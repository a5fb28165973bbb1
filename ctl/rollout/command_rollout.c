/*
 * pgflowctl rollout MANIFEST.json check|sql|status|run|abort|close. The way forward is
 * the operator's, step by step or driven by `run`; the way back is one command.
 */
#include "ctl/command.h"
#include "ctl/json_output.h"
#include "ctl/plain.h"
#include "ctl/query.h"
#include "ctl/rollout/driver_lock.h"
#include "ctl/rollout/manifest.h"
#include "ctl/rollout/rollout_rows.h"
#include "ctl/rollout/rollout_run.h"
#include "ctl/rollout/rollout_sequence.h"

#include "base/limits.h"
#include "base/text.h"
#include "db/sync.h"

#include <stdio.h>
#include <string.h>

static int check(struct invocation *invocation, const struct manifest *manifest,
                 struct error *error)
{
    static const char sql[] =
        "select p.line as problem from pgflow.manifest_problems($1::jsonb) as p (line)";
    const char *text = manifest->text.data;
    struct db_rows *rows = query_rows(invocation->db, sql, &text, 1, error);
    if (rows == NULL)
        return FAILED;
    size_t count = db_rows_count(rows);
    if (invocation->json)
        json_print_rows(stdout, rows);
    for (size_t i = 0; i < count && !invocation->json; i++) {
        plain_print(stdout, db_rows_text(rows, i, 0));
        printf("\n");
    }
    if (count == 0 && !invocation->json)
        printf("manifest \"%s\" is good: %zu function%s\n", manifest->deployment,
               manifest_count(manifest), manifest_count(manifest) == 1 ? "" : "s");
    db_rows_destroy(rows);
    return count == 0 ? DONE : ERROR_ANSWER_NO;
}

/* The lines below the step, indented. */
static void print_lines(const char *text, const char *mark)
{
    while (*text) {
        size_t size = strcspn(text, "\n");
        printf("%15s", mark);
        plain_print_part(stdout, text, size);
        printf("\n");
        text += size + (text[size] == '\n');
    }
}

/* What later steps wait for is not worth showing yet: it mostly follows from the
 * step that is next. Notes are: old code that stands by for good. */
static void print_status(const struct db_rows *rows)
{
    for (size_t i = 0; i < db_rows_count(rows); i++) {
        const char *state = db_rows_text(rows, i, STATE);
        printf("%-5s %2s  %s\n", state, db_rows_text(rows, i, STEP), db_rows_text(rows, i, NAME));
        if (strcmp(state, "done") != 0 && strcmp(state, "later") != 0)
            print_lines(db_rows_text(rows, i, WAITS_FOR), "");
        print_lines(db_rows_text(rows, i, NOTES), "note: ");
    }
}

static int status(struct invocation *invocation, const struct manifest *manifest,
                  struct error *error)
{
    struct db_rows *rows = rollout_rows(invocation->db, manifest->deployment, manifest->text.data,
                                        invocation->json, error);
    if (rows == NULL)
        return FAILED;
    bool done = true;
    for (size_t i = 0; i < db_rows_count(rows); i++)
        done = done && rollout_is_over(db_rows_text(rows, i, STATE));
    if (invocation->json)
        json_print_rows(stdout, rows);
    else
        print_status(rows);
    db_rows_destroy(rows);
    return done ? DONE : ERROR_ANSWER_NO;
}

/* Not while a driver goes forward. One stage a call, each a transaction of its own, until it is
 * done or has to wait; what it waits for is the database's refusal. */
static int abort_deployment(struct invocation *invocation, const struct manifest *manifest,
                            struct error *error)
{
    static const char sql[] = "select a.stage, a.is_done, array_to_string(a.lines, e'\\n') as lines"
                              " from pgflow.abort_manifest($1) a";
    bool done = false;
    if (!driver_lock_is_free(invocation->db, manifest->deployment, error))
        return FAILED;
    while (!done) {
        struct db_rows *rows = query_rows(invocation->db, sql, &manifest->deployment, 1, error);
        if (rows == NULL)
            return FAILED;
        done = strcmp(db_rows_text(rows, 0, 1), "t") == 0;
        if (!invocation->json) {
            printf("%s\n", db_rows_text(rows, 0, 0));
            print_lines(db_rows_text(rows, 0, 2), "");
        } else if (done) {
            json_print_row(stdout, rows, 0);
        }
        db_rows_destroy(rows);
    }
    return DONE;
}

static int close_deployment(struct invocation *invocation, const struct manifest *manifest,
                            struct error *error)
{
    static const char sql[] =
        "select c.closed as deployment, c.closed_at, c.closed_by from pgflow.close_manifest($1) c";
    struct db_rows *rows = query_rows(invocation->db, sql, &manifest->deployment, 1, error);
    if (rows == NULL)
        return FAILED;
    if (invocation->json)
        json_print_row(stdout, rows, 0);
    else
        printf("closed\n");
    db_rows_destroy(rows);
    return DONE;
}

static int print_sql(const struct invocation *invocation, const struct manifest *manifest,
                     struct error *error)
{
    struct buf out;
    buf_init(&out, (size_t)8 * LIMIT_MIB);
    rollout_sequence_put(&out, manifest);
    bool ok = buf_ok(&out);
    if (ok && invocation->json) {
        struct buf json;
        buf_init(&json, (size_t)16 * LIMIT_MIB);
        buf_put_json_string(&json, out.data, out.size);
        ok = buf_ok(&json);
        printf("{\"sql\": %s}\n", json.data);
        buf_free(&json);
    } else if (ok) {
        (void)fputs(out.data, stdout);
    }
    buf_free(&out);
    if (!ok)
        (void)error_out_of_memory(error);
    return ok ? DONE : FAILED;
}

static bool know_verb(const char *verb, struct error *error)
{
    static const char *const verbs[] = {"check", "sql", "status", "run", "abort", "close"};
    enum { VERBS = sizeof verbs / sizeof verbs[0] };
    for (size_t i = 0; i < VERBS; i++) {
        if (strcmp(verb, verbs[i]) == 0)
            return true;
    }
    const char *near = text_nearest(verb, verbs, VERBS);
    return error_set(error, ERROR_USAGE,
                     "rollout '%s': give check, sql, status, run, abort or close%s%s", verb,
                     near != NULL ? "; did you mean " : "", near != NULL ? near : "");
}

/* The statements come from the manifest alone. */
static bool is_offline(const struct invocation *invocation)
{
    return invocation->count == 2 && strcmp(invocation->arguments[1], "sql") == 0;
}

static int execute(struct invocation *invocation, struct error *error)
{
    const char *verb = invocation->arguments[1];
    struct manifest manifest;
    if (!know_verb(verb, error) || !rollout_run_options_fit(invocation, verb, error) ||
        !manifest_read(&manifest, invocation->arguments[0], error))
        return FAILED;
    int result = FAILED;
    if (strcmp(verb, "sql") == 0)
        result = print_sql(invocation, &manifest, error);
    else if (strcmp(verb, "check") == 0)
        result = check(invocation, &manifest, error);
    else if (strcmp(verb, "run") == 0)
        result = rollout_run(invocation, &manifest, error);
    else if (strcmp(verb, "abort") == 0)
        result = abort_deployment(invocation, &manifest, error);
    else if (strcmp(verb, "close") == 0)
        result = close_deployment(invocation, &manifest, error);
    else
        result = status(invocation, &manifest, error);
    manifest_free(&manifest);
    return result;
}

const struct command command_rollout = {
    .name = "rollout",
    .arguments = "MANIFEST.json check|sql|status|run|abort|close",
    .summary = "check a deployment manifest, show where it stands, drive it, take it back",
    .help = "check    tells whether the database would load the manifest; exit 1 with reasons\n"
            "sql      prints the statements of this deployment for psql, in order; needs no\n"
            "         database\n"
            "status   shows the present step and what it waits for; exit 0 if all is done, or\n"
            "         if later deployments took over all its functions\n"
            "run      takes every step to the end, or waits for it; exit 0 when that is so.\n"
            "         Exit 1 if it stopped in a safe state: a wait was too long, a hook did\n"
            "         not help, you said no, or another driver is at work. Run it again: it\n"
            "         goes on from where the deployment stands, on any machine\n"
            "abort    takes the deployment back, stage by stage, until it must wait; run it\n"
            "         again then\n"
            "close    closes a deployment that nobody will continue. Refused while its fence\n"
            "         keeps a function disabled\n"
            "\n"
            "run stops and starts hosts by the commands in MANIFEST.hooks.json. Without one it\n"
            "says what to do and waits until that is so. It asks before the switch of new\n"
            "starts and before a retirement. It needs a direct connection: a pooler is\n"
            "refused. See docs/operations/rollout.md.\n",
    .least = 2,
    .most = 2,
    .needs_database = true,
    .is_offline = is_offline,
    .examples = "pgflowctl rollout deployment.json check\n"
                "pgflowctl rollout deployment.json sql > deployment.sql\n"
                "pgflowctl rollout deployment.json status\n"
                "pgflowctl rollout deployment.json run --dry-run\n"
                "pgflowctl rollout deployment.json run --until confirm\n"
                "pgflowctl rollout deployment.json abort\n",
    .options = {{"until", "ROLLOUT-STEP", "run: end when this step of status is done"},
                {"dry-run", NULL, "run: show what it would do; change nothing, run no hook"},
                {"yes", NULL, "run: do not ask before the switch and before a retirement"},
                {"timeout", "SECONDS", "run: longest wait at one step (default: 900)"},
                {"drain-timeout", "SECONDS", "run: longest wait for the drain (default: 86400)"},
                {"hooks", "HOOKS.json", "run: hooks in another file than MANIFEST.hooks.json"},
                {"then", "NEXT.json", "run: drive this manifest once the first one is through"}},
    .run = execute,
};
