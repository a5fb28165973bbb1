/*
 * pgflowctl metrics: every queue and function of the database, in the text format of Prometheus. It
 * needs no host, so it can tell of a queue that has lost all of its hosts.
 */
#include "ctl/command.h"
#include "ctl/query.h"

#include "db/sync.h"

#include <stdio.h>

int command_metrics(struct invocation *invocation, struct error *error)
{
    struct db_rows *rows =
        query_rows(invocation->db, "select pgflow.database_metrics()", NULL, 0, error);
    if (rows == NULL)
        return FAILED;
    (void)fputs(db_rows_text(rows, 0, 0), stdout);
    db_rows_destroy(rows);
    return DONE;
}
