/*
 * pgflowctl retry, pgflowctl resume: new runs of runs that ended, by their ids or by what they
 * have in common. A walk through many goes page by page, each a transaction of its own; what was
 * restarted is not found again, so that a walk that was killed goes on when it is run again.
 */
#include "ctl/command.h"
#include "ctl/confirm.h"
#include "ctl/json_option.h"
#include "ctl/json_output.h"
#include "ctl/plain.h"
#include "ctl/query.h"
#include "ctl/runs/run_filter.h"

#include "base/buf.h"
#include "base/text.h"
#include "db/sync.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 5000, REASONS = 16, REASON_TEXT = 512, RUNS_MOST = INT32_MAX };
/* Columns of all statements here. */
enum { RUN, AT, NEW_RUN, REFUSED };

struct kind {
    const char *past;     /* "resumed" */
    bool reruns;          /* whether it has the option --rerun-skipped */
    const char *page_sql; /* $1 filter, $2 at, $3 run, $4 size, $5 onto, $6 rerun-skipped */
    const char *list_sql; /* $1 run ids, $2 onto, $3 again, $4 rerun-skipped */
};

#define PAGE_SQL(call)                                                                             \
    "with page as materialized (select f.run_id, f.at, row_number() over () as place"              \
    "  from pgflow.find_runs($1::jsonb, $2::timestamptz, $3::uuid, $4::int, false) f), "           \
    "done as materialized (select d.* from " call " d) "                                           \
    "select p.run_id as run, p.at, d.new_run_id as new_run, d.refused"                             \
    " from page p left join done d on d.run_id = p.run_id order by p.place"
#define PAGE_RUNS "array(select p.run_id from page p order by p.place)"
#define LIST_SQL(call)                                                                             \
    "select d.run_id as run, null as at, d.new_run_id as new_run, d.refused from " call " d"

static const struct kind retry = {
    "retried",
    false,
    PAGE_SQL("pgflow.retry_runs(" PAGE_RUNS ", $5)"),
    LIST_SQL("pgflow.retry_runs($1::uuid[], $2, $3::boolean)"),
};
static const struct kind resume = {
    "resumed",
    true,
    PAGE_SQL("pgflow.resume_runs(" PAGE_RUNS ", $5, $6::boolean)"),
    LIST_SQL("pgflow.resume_runs($1::uuid[], $2, $4::boolean, $3::boolean)"),
};

struct restarts {
    const struct kind *kind;
    bool json, quiet; /* quiet: no line a run */
    bool terminal;
    int64_t asked, done, refused;
    struct {
        char text[REASON_TEXT];
        int64_t runs;
    } reasons[REASONS]; /* the last one stands for all others */
};

static void count_reason(struct restarts *restarts, const char *reason)
{
    size_t i = 0;
    while (i < REASONS - 1 && restarts->reasons[i].runs > 0 &&
           strncmp(restarts->reasons[i].text, reason, REASON_TEXT - 1) != 0)
        i++;
    bool other = i == REASONS - 1;
    if (restarts->reasons[i].runs++ == 0)
        (void)snprintf(restarts->reasons[i].text, REASON_TEXT, "%s",
                       other ? "other reasons" : reason);
}

static void print_one(const struct restarts *restarts, const struct db_rows *rows, size_t row)
{
    const char *reason = db_rows_text(rows, row, REFUSED);
    if (restarts->json) {
        printf("%s", restarts->done + restarts->refused > 0 ? ",\n " : "");
        json_print_row(stdout, rows, row);
    } else if (!restarts->quiet && reason == NULL) {
        printf("%s is %s as %s\n", db_rows_text(rows, row, RUN), restarts->kind->past,
               db_rows_text(rows, row, NEW_RUN));
    } else if (!restarts->quiet) {
        printf("%s is not %s: ", db_rows_text(rows, row, RUN), restarts->kind->past);
        plain_print_one_line(stdout, reason);
        printf("\n");
    }
}

static bool take(void *ctx, struct db_rows *rows, struct error *error)
{
    struct restarts *restarts = ctx;
    (void)error;
    for (size_t i = 0; i < db_rows_count(rows); i++) {
        const char *reason = db_rows_text(rows, i, REFUSED);
        print_one(restarts, rows, i);
        restarts->done += reason == NULL;
        restarts->refused += reason != NULL;
        if (reason != NULL)
            count_reason(restarts, reason);
    }
    if (restarts->terminal)
        fprintf(stderr, "\r\x1b[K%" PRId64 " of %" PRId64 " runs",
                restarts->done + restarts->refused, restarts->asked);
    db_rows_destroy(rows);
    return true;
}

static int finish(const struct restarts *restarts)
{
    if (restarts->terminal)
        fprintf(stderr, "\r\x1b[K");
    if (restarts->json) {
        printf("]\n");
    } else if (restarts->quiet) {
        printf("%" PRId64 " run%s %s", restarts->done, restarts->done == 1 ? "" : "s",
               restarts->kind->past);
        if (restarts->refused > 0)
            printf(", %" PRId64 " not:", restarts->refused);
        printf("\n");
        for (size_t i = 0; i < REASONS && restarts->reasons[i].runs > 0; i++) {
            printf("%8" PRId64 "  ", restarts->reasons[i].runs);
            plain_print_one_line(stdout, restarts->reasons[i].text);
            printf("\n");
        }
    }
    return restarts->refused > 0 ? ERROR_ANSWER_NO : DONE;
}

static const char *rerun_skipped(const struct invocation *invocation)
{
    return invocation_value(invocation, "rerun-skipped") != NULL ? "true" : "false";
}

/* ---- By what runs have in common ---- */

static bool ask(struct invocation *invocation, const struct restarts *restarts, struct error *error)
{
    char question[160];
    const char *onto = invocation_value(invocation, "onto");
    (void)snprintf(question, sizeof question, "%" PRId64 " run%s will be %s%s%.80s%s",
                   restarts->asked, restarts->asked == 1 ? "" : "s", restarts->kind->past,
                   onto != NULL ? " onto " : "", onto != NULL ? onto : "",
                   invocation_value(invocation, "yes") != NULL ? "." : ". Continue?");
    return confirm(invocation, question, error);
}

static int restart_found(struct invocation *invocation, const char *filter,
                         struct restarts *restarts, struct error *error)
{
    const char *values[] = {invocation_value(invocation, "onto"), rerun_skipped(invocation)};
    struct run_walk walk = {.sql = restarts->kind->page_sql,
                            .filter = filter,
                            .values = values,
                            .count = restarts->kind->reruns ? 2 : 1,
                            .most = RUNS_MOST,
                            .page = PAGE,
                            .take = take,
                            .ctx = restarts};
    if (!run_filter_count(invocation, filter, &restarts->asked, error))
        return FAILED;
    if (invocation_value(invocation, "dry-run") != NULL) {
        printf(invocation->json ? "{\"runs\": %" PRId64 "}\n" : "%" PRId64 " runs would be tried\n",
               restarts->asked);
        return DONE;
    }
    if (restarts->asked > 0 && !ask(invocation, restarts, error))
        return FAILED;
    printf("%s", restarts->json ? "[" : "");
    bool done = run_walk(invocation, &walk, error);
    int status = finish(restarts);
    return done ? status : FAILED;
}

static int restart_by_filter(struct invocation *invocation, struct restarts *restarts,
                             struct error *error)
{
    const char *flow = invocation_value(invocation, "flow");
    struct buf filter;
    struct buf members;
    int status = FAILED;
    buf_init(&filter, LIMIT_DB_STATEMENT_BYTES);
    buf_init(&members, LIMIT_DB_STATEMENT_BYTES);
    buf_puts(&members, ", \"unrestarted\": true");
    restarts->quiet = true;
    restarts->terminal = isatty(STDERR_FILENO) == 1;
    if (invocation_value(invocation, "again") != NULL)
        (void)error_set(error, ERROR_USAGE,
                        "--again is for runs that you name: among many, a second call could not "
                        "tell what the first one did");
    else if (run_filter_put_moment(invocation, &members, error) &&
             run_filter_read(invocation, "failed", members.data, &filter, error) &&
             (flow == NULL || query_require_flow(invocation->db, flow, error)))
        status = restart_found(invocation, filter.data, restarts, error);
    buf_free(&members);
    buf_free(&filter);
    return status;
}

/* ---- By their ids ---- */

static bool put_ids(const struct invocation *invocation, struct buf *ids, struct error *error)
{
    for (size_t i = 0; i < invocation->count; i++) {
        if (!text_is_uuid(invocation->arguments[i]))
            return error_set(error, ERROR_USAGE,
                             "'%s' is no run id; pgflowctl runs lists the newest",
                             text_shown(invocation->arguments[i]));
        buf_printf(ids, "%s%s", i == 0 ? "{" : ",", invocation->arguments[i]);
    }
    buf_putc(ids, '}');
    return buf_ok(ids) || error_out_of_memory(error);
}

static int restart_list(struct invocation *invocation, struct restarts *restarts, const char *ids,
                        struct error *error)
{
    const char *values[] = {ids, invocation_value(invocation, "onto"),
                            invocation_value(invocation, "again") != NULL ? "true" : "false",
                            rerun_skipped(invocation)};
    if (invocation_value(invocation, "dry-run") != NULL) {
        (void)error_set(error, ERROR_USAGE,
                        "--dry-run counts what the options find; you named "
                        "the runs yourself");
        return FAILED;
    }
    struct db_rows *rows = query_rows(invocation->db, restarts->kind->list_sql, values,
                                      restarts->kind->reruns ? 4 : 3, error);
    if (rows == NULL)
        return FAILED;
    printf("%s", restarts->json ? "[" : "");
    return take(restarts, rows, error) ? finish(restarts) : FAILED;
}

/* retry RUN --input JSON */
static int retry_with_input(struct invocation *invocation, struct error *error)
{
    static const char sql[] = "select $1::uuid as run, null as at, n.id as new_run,"
                              " null as refused from pgflow.retry_run($1::uuid, $2, $3::jsonb,"
                              " $4::boolean) as n (id)";
    struct restarts restarts = {.kind = &retry, .json = invocation->json};
    struct buf input;
    struct db_rows *rows = NULL;
    buf_init(&input, LIMIT_DB_STATEMENT_BYTES);
    if (invocation->count != 1)
        (void)error_set(error, ERROR_USAGE, "--input is for one run that you name");
    else if (!text_is_uuid(invocation->arguments[0]))
        (void)error_set(error, ERROR_USAGE, "'%s' is no run id; pgflowctl runs lists the newest",
                        text_shown(invocation->arguments[0]));
    else if (json_option_read(invocation, "input", "{}", &input, error)) {
        const char *values[] = {invocation->arguments[0], invocation_value(invocation, "onto"),
                                input.data,
                                invocation_value(invocation, "again") != NULL ? "true" : "false"};
        rows = query_rows(invocation->db, sql, values, 4, error);
    }
    buf_free(&input);
    if (rows == NULL)
        return FAILED;
    printf("%s", restarts.json ? "[" : "");
    return take(&restarts, rows, error) ? finish(&restarts) : FAILED;
}

static int restart(struct invocation *invocation, const struct kind *kind, struct error *error)
{
    struct restarts restarts = {.kind = kind, .json = invocation->json};
    bool filtered = run_filter_is_given(invocation);
    if (filtered == (invocation->count > 0)) {
        (void)error_set(error, ERROR_USAGE,
                        filtered ? "name the runs, or find them by options: not both"
                                 : "name the runs, or find them by options, as in: pgflowctl %s "
                                   "--failed --since 1d",
                        invocation->command->name);
        return FAILED;
    }
    if (filtered)
        return restart_by_filter(invocation, &restarts, error);

    struct buf ids;
    int status = FAILED;
    buf_init(&ids, LIMIT_DB_STATEMENT_BYTES);
    if (put_ids(invocation, &ids, error))
        status = restart_list(invocation, &restarts, ids.data, error);
    buf_free(&ids);
    return status;
}

static int execute_retry(struct invocation *invocation, struct error *error)
{
    return invocation_value(invocation, "input") != NULL ? retry_with_input(invocation, error)
                                                         : restart(invocation, &retry, error);
}

static int execute_resume(struct invocation *invocation, struct error *error)
{
    return restart(invocation, &resume, error);
}

#define RESTART_OPTIONS                                                                            \
    {"onto", "FLOW", "on this version or alias instead of the run's own version"},                 \
        {"again", NULL, "although a run was restarted before; for named runs"},                    \
        {"dry-run", NULL, "only count the runs"},                                                  \
    {                                                                                              \
        "yes", NULL, "do not ask"                                                                  \
    }

const struct command command_retry = {
    .name = "retry",
    .arguments = "[RUN...]",
    .summary = "start ended runs over",
    .help =
        "Makes a new run of each run, with the same input and from the beginning, on the same\n"
        "version or on --onto. The old run stays as it is. Name the runs, or find failed ones by\n"
        "the options of runs; then it says how many there are and asks. A run that was retried\n"
        "or resumed before is left out. If it is interrupted, run it again. Exit 1 if some of\n"
        "the runs could not be retried; it says why.\n",
    .most = INVOCATION_ARGUMENTS,
    .needs_database = true,
    .examples = "pgflowctl retry 0b7c5bd2-6d3c-4a3a-9a51-0a5f7b1f6a10 --input @corrected.json\n"
                "pgflowctl retry --failed --flow audit --since '2 hours' --dry-run\n",
    .run = execute_retry,
    .options = {RUN_FILTER_OPTIONS,
                RESTART_OPTIONS,
                {"input", "JSON|@FILE|-", "with this input; for one named run"}},
};

const struct command command_resume = {
    .name = "resume",
    .arguments = "[RUN...]",
    .summary = "carry failed runs on without doing finished work twice",
    .help =
        "Makes a new run of each failed or cancelled run. It takes over every completed and\n"
        "skipped step and every completed element of a map, and runs only what is missing. The\n"
        "old run stays as it is. --onto another version works where what is taken over has the\n"
        "same type, dependencies and contract there. Name the runs, or find them by the options\n"
        "of runs (failed ones, unless --status says otherwise); then it says how many there are\n"
        "and asks. A run that was retried or resumed before is left out. If it is interrupted,\n"
        "run it again. Exit 1 if some of the runs could not be resumed; it says why.\n",
    .most = INVOCATION_ARGUMENTS,
    .needs_database = true,
    .examples = "pgflowctl resume --failed --step fetch --since 1d --onto audit_v2\n"
                "pgflowctl resume 0b7c5bd2-6d3c-4a3a-9a51-0a5f7b1f6a10\n",
    .run = execute_resume,
    .options = {RUN_FILTER_OPTIONS,
                RESTART_OPTIONS,
                {"rerun-skipped", NULL, "run again what was skipped because its handler failed"}},
};
