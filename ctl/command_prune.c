/*
 * pgflowctl prune: deletes runs that ended long ago, batch by batch, so that no
 * transaction and no lock lasts long.
 */
#include "ctl/command.h"
#include "ctl/query.h"

#include "db/sync.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char count_sql[] =
    "select count(*) from pgflow.runs r where r.status <> 'started'"
    " and r.started_at < clock_timestamp() - least($1::interval, '6000 years')"
    " and coalesce(r.completed_at, r.failed_at)"
    "   < clock_timestamp() - least($1::interval, '6000 years')";

static bool ask_number(struct invocation *invocation, const char *sql, const char *const *values,
                       size_t count, int64_t *number, struct error *error)
{
    struct db_rows *rows = query_rows(invocation->db, sql, values, count, error);
    if (rows == NULL)
        return false;
    *number = strtoll(db_rows_text(rows, 0, 0), NULL, 10);
    db_rows_destroy(rows);
    return true;
}

/* Until a batch was not full: what ends meanwhile is younger than the age. A run
 * that another transaction has locked is skipped, and waits for the next call. */
static bool prune(struct invocation *invocation, const char *age, int batch, int64_t *pruned,
                  struct error *error)
{
    char most[16];
    int64_t number = batch;
    bool terminal = isatty(STDERR_FILENO) == 1;
    bool done = true;
    (void)snprintf(most, sizeof most, "%d", batch);
    const char *values[] = {age, most};
    while (done && number == batch) {
        done =
            ask_number(invocation, "select pgflow.prune_data_older_than($1::interval, $2::integer)",
                       values, 2, &number, error);
        *pruned += done ? number : 0;
        if (terminal)
            fprintf(stderr, "\r\x1b[K%" PRId64 " runs deleted", *pruned);
    }
    if (terminal)
        fprintf(stderr, "\r\x1b[K");
    return done || (*pruned > 0 && error_wrap(error, "after %" PRId64 " runs", *pruned));
}

/* Counting would take what deleting refuses. */
static bool check_age(struct invocation *invocation, const char *age, struct error *error)
{
    static const char sql[] = "select ($1::interval < interval '0')::int";
    int64_t is_negative = 0;
    if (ask_number(invocation, sql, &age, 1, &is_negative, error))
        return is_negative == 0 ||
               error_set(error, ERROR_USAGE,
                         "--older-than '%s': an age is not negative; give it as in '30 days'", age);
    if (error->code == ERROR_USAGE)
        (void)error_set(error, ERROR_USAGE, "--older-than: %s; give it as in '30 days'",
                        error->text);
    return false;
}

static int execute(struct invocation *invocation, struct error *error)
{
    const char *age = invocation_value(invocation, "older-than");
    bool dry = invocation_value(invocation, "dry-run") != NULL;
    int batch = 0;
    int64_t runs = 0;
    if (age == NULL) {
        (void)error_set(error, ERROR_USAGE,
                        "give --older-than, as in: pgflowctl prune --older-than '30 days'");
        return FAILED;
    }
    if (!invocation_number(invocation, "batch", 1, 100000, 1000, &batch, error))
        return FAILED;
    if (!check_age(invocation, age, error))
        return FAILED;
    if (dry ? !ask_number(invocation, count_sql, &age, 1, &runs, error)
            : !prune(invocation, age, batch, &runs, error))
        return FAILED;
    if (invocation->json)
        printf("{\"runs\": %" PRId64 ", \"deleted\": %s}\n", runs, dry ? "false" : "true");
    else
        printf("%" PRId64 " run%s %s\n", runs, runs == 1 ? "" : "s",
               dry ? "would be deleted" : "deleted");
    return DONE;
}

const struct command command_prune = {
    .name = "prune",
    .arguments = "",
    .summary = "delete runs that ended long ago",
    .help = "Deletes runs with their tasks, messages and archives, and workers that have been\n"
            "silent for as long, in batches of one transaction each. Definitions stay, and so do\n"
            "runs that have not ended. This cannot be undone.\n",
    .needs_database = true,
    .examples = "pgflowctl prune --older-than '30 days' --dry-run\n"
                "pgflowctl prune --older-than '30 days'\n",
    .run = execute,
    .options = {{"older-than", "INTERVAL", "'30 days', '12 hours': how long ago they ended"},
                {"dry-run", NULL, "only count them"},
                {"batch", "N", "runs in one transaction (default: 1000)"}},
};
