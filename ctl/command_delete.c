/*
 * pgflowctl delete FLOW --yes. Without --yes it only tells what would go. What is
 * still in use is not deleted, unless by --force.
 */
#include "ctl/command.h"
#include "ctl/json_output.h"
#include "ctl/plain.h"
#include "ctl/query.h"

#include "db/sync.h"

#include <stdio.h>
#include <string.h>

/* pgflow.drain_status raises for an unknown flow, with the SQLSTATE of one. */
#define LOOK(in_use)                                                                               \
    "select $1::text as flow, d.alias, d.is_active as active, d.started_runs,"                     \
    " (select count(*) from pgflow.runs r where r.flow_slug = $1) as runs,"                        \
    " coalesce((select string_agg(q.queue_name, ' ' order by q.queue_name) from pgflow.queues q"   \
    "   where q.owner_flow_slug = $1), '') as own_queues, " in_use " as in_use,"                   \
    " $2::boolean as deleted"                                                                      \
    " from pgflow.drain_status($1) d, pgflow.deletion_blockers($1) b (lines)"
enum { FLOW, ALIAS, ACTIVE, STARTED_RUNS, RUNS, OWN_QUEUES, IN_USE };

static const char look_sql[] = LOOK("array_to_string(b.lines, e'\\n')");
static const char look_json_sql[] = LOOK("to_jsonb(b.lines)");

static const char delete_sql[] = "select pgflow.delete_unused_flow($1)";
static const char force_sql[] = "select pgflow.delete_flow_and_data($1)";

static void print_text(const struct db_rows *rows, bool deleted)
{
    const char *queues = db_rows_text(rows, 0, OWN_QUEUES);
    const char *runs = db_rows_text(rows, 0, RUNS);
    const char *in_use = db_rows_text(rows, 0, IN_USE);
    printf("%s: %s %s run%s (%s started)%s%s%s\n", db_rows_text(rows, 0, FLOW),
           deleted ? "deleted with" : "would be deleted with", runs,
           strcmp(runs, "1") == 0 ? "" : "s", db_rows_text(rows, 0, STARTED_RUNS),
           *queues ? " and its queues " : "", queues,
           *db_rows_text(rows, 0, ACTIVE) != 't' ? ""
           : deleted                             ? "; its alias pointed at it"
                                                 : "; its alias points at it");
    if (!deleted && *in_use) {
        printf("it is in use, so it wants --force besides:\n");
        plain_print(stdout, in_use);
        printf("\n");
    }
    if (!deleted)
        printf("nothing is deleted without --yes\n");
}

static int execute(struct invocation *invocation, struct error *error)
{
    bool yes = invocation_value(invocation, "yes") != NULL;
    bool force = invocation_value(invocation, "force") != NULL;
    const char *values[] = {invocation->arguments[0], yes ? "t" : "f"};
    struct db_rows *before =
        query_rows(invocation->db, invocation->json ? look_json_sql : look_sql, values, 2, error);
    if (before == NULL) {
        query_offer_flow(invocation->db, values[0], error);
        return FAILED;
    }
    struct db_rows *deleted =
        yes ? query_rows(invocation->db, force ? force_sql : delete_sql, values, 1, error) : NULL;
    bool failed = yes && deleted == NULL;
    if (!failed && invocation->json) {
        json_print_row(stdout, before, 0);
        printf("\n");
    } else if (!failed) {
        print_text(before, yes);
    }
    db_rows_destroy(before);
    db_rows_destroy(deleted);
    return failed ? FAILED : yes ? DONE : ERROR_ANSWER_NO;
}

const struct command command_delete = {
    .name = "delete",
    .arguments = "FLOW",
    .summary = "delete a concrete flow with its runs, tasks and own queues",
    .help = "Deletion cannot be undone and needs --yes. Without it, shows what would be deleted;\n"
            "exit 1. Refused (exit 1), with the reasons, while runs of the flow have not ended,\n"
            "another name points at it, or a live host carries it. --force deletes it in spite\n"
            "of that, with its running runs: an alias returns to the version before, and hosts\n"
            "of its own queues end. Other flows on a shared queue are left untouched.\n",
    .least = 1,
    .most = 1,
    .needs_database = true,
    .examples = "pgflowctl delete audit_v1\n"
                "pgflowctl delete audit_v1 --yes\n",
    .run = execute,
    .options = {{"yes", NULL, "delete it"},
                {"force", NULL, "although it is in use: its runs are lost"}},
};
