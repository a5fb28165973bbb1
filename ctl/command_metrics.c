/*
 * pgflowctl metrics: every queue and function of the database, in the text format of Prometheus. It
 * needs no host, so it can tell of a queue that has lost all of its hosts.
 */
#include "ctl/command.h"
#include "ctl/query.h"

#include "db/sync.h"

#include <stdio.h>

static int execute(struct invocation *invocation, struct error *error)
{
    struct db_rows *rows =
        query_rows(invocation->db, "select pgflow.database_metrics()", NULL, 0, error);
    if (rows == NULL)
        return FAILED;
    (void)fputs(db_rows_text(rows, 0, 0), stdout);
    db_rows_destroy(rows);
    return DONE;
}

const struct command command_metrics = {
    .name = "metrics",
    .arguments = "",
    .summary = "print the state of the whole database for Prometheus",
    .help = "Prints every queue (its tasks, the age of the oldest, its workers) and every worker\n"
            "function in the text format of Prometheus. It needs no host, so it also reports a\n"
            "queue that has lost all of its hosts. Write its output into a file for the textfile\n"
            "collector of node_exporter. Hosts with --metrics-listen serve the same lines.\n",
    .needs_database = true,
    .examples = "pgflowctl metrics >pgflow.prom.new && mv pgflow.prom.new pgflow.prom\n",
    .run = execute,
};
