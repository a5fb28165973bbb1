/*
 * pgflowctl snapshot: what the database needs of its hosts, for preflight where there is no login.
 */
#include "ctl/command.h"
#include "ctl/preflight/snapshot.h"

#include <stdio.h>

static int execute(struct invocation *invocation, struct error *error)
{
    struct buf text;
    buf_init(&text, SNAPSHOT_MAX);
    bool ok = snapshot_fetch(invocation->db, &text, error);
    if (ok)
        (void)fputs(text.data, stdout);
    buf_free(&text);
    return ok ? DONE : FAILED;
}

const struct command command_snapshot = {
    .name = "snapshot",
    .arguments = "",
    .summary = "print what the database needs, for pgflowctl preflight in CI",
    .help = "One JSON object on one line: its time, the version of the schema, a digest, every\n"
            "flow as it was compiled, the queues, what each must be served for, what waits there\n"
            "and since when, and the live hosts. No input, output or error of a task is in it,\n"
            "but the patterns of conditions and the contracts of steps are: they are part of the\n"
            "flows. Up to 500 runs and tasks of each pair are counted. Nothing is written; the\n"
            "right to call pgflow.needs_snapshot() suffices.\n",
    .needs_database = true,
    .examples = "pgflowctl snapshot > needs.json\n",
    .run = execute,
};
