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

int command_activate(struct invocation *invocation, struct error *error)
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
