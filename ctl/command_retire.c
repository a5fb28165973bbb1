/*
 * pgflowctl retire FLOW: the end of a version's service, and the way back.
 */
#include "ctl/command.h"
#include "ctl/json_output.h"
#include "ctl/query.h"

#include "db/sync.h"

#include <stdio.h>

static int execute(struct invocation *invocation, struct error *error)
{
    const char *flow = invocation->arguments[0];
    bool undo = invocation_value(invocation, "undo") != NULL;
    const char *sql =
        undo ? "select flow_slug as flow, alias, retired_at from pgflow.unretire_flow($1)"
             : "select flow_slug as flow, alias, retired_at from pgflow.retire_flow($1)";
    struct db_rows *rows = query_rows(invocation->db, sql, &flow, 1, error);
    if (rows == NULL) {
        query_offer_flow(invocation->db, flow, error);
        return FAILED;
    }
    if (invocation->json) {
        json_print_row(stdout, rows, 0);
        printf("\n");
    } else {
        printf("%s: %s\n", flow, undo ? "in service" : "retired");
    }
    db_rows_destroy(rows);
    return DONE;
}

const struct command command_retire = {
    .name = "retire",
    .arguments = "FLOW",
    .summary = "take a drained concrete flow out of service",
    .help = "Refused (exit 1), with the reasons, while the version may not be retired; this is\n"
            "checked once more under lock. Its history stays. New starts on it are refused.\n",
    .least = 1,
    .most = 1,
    .needs_database = true,
    .examples = "pgflowctl retire audit_v1\n"
                "pgflowctl retire audit_v1 --undo\n",
    .run = execute,
    .options = {{"undo", NULL, "take a retired flow back into service"}},
};
