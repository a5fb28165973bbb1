/*
 * pgflowctl activate ALIAS FLOW: how an operator switches an alias.
 */
#include "ctl/command.h"
#include "ctl/json_output.h"
#include "ctl/query.h"

#include "db/sync.h"

#include <stdio.h>

enum { ALIAS, ACTIVE, PREVIOUS };

static const char activate_sql[] =
    "select alias, active_flow_slug as active, previous_flow_slug as previous, activated_at"
    " from pgflow.activate_flow($1, $2, $3::boolean)";

static int execute(struct invocation *invocation, struct error *error)
{
    const char *values[] = {invocation->arguments[0], invocation->arguments[1],
                            invocation_value(invocation, "force") != NULL ? "t" : "f"};
    struct db_rows *rows = query_rows(invocation->db, activate_sql, values, 3, error);
    if (rows == NULL) {
        query_offer_flow(invocation->db, values[1], error);
        return FAILED;
    }
    if (invocation->json) {
        json_print_row(stdout, rows, 0);
        printf("\n");
    } else {
        const char *previous = db_rows_text(rows, 0, PREVIOUS);
        printf("alias %s starts runs of %s%s%s%s\n", db_rows_text(rows, 0, ALIAS),
               db_rows_text(rows, 0, ACTIVE), previous != NULL ? " (before: " : "",
               previous != NULL ? previous : "", previous != NULL ? ")" : "");
    }
    db_rows_destroy(rows);
    return DONE;
}

const struct command command_activate = {
    .name = "activate",
    .arguments = "ALIAS FLOW",
    .summary = "let new runs of an alias use this concrete flow",
    .help = "Refused (exit 1) while a queue of the flow has no live worker that supports it. To\n"
            "roll back, run the same command with the older version.\n",
    .least = 2,
    .most = 2,
    .needs_database = true,
    .examples = "pgflowctl activate audit audit_v2\n"
                "pgflowctl activate audit audit_v1\n",
    .run = execute,
    .options = {{"force", NULL, "although workers are missing: tasks wait for them"}},
};
