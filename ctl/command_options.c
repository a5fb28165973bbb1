/*
 * pgflowctl options FILE.so: how the options of a module (attempts, delays,
 * timeouts) differ from the stored ones, which count until they are applied.
 */
#include "ctl/command.h"
#include "ctl/module_descriptor.h"
#include "ctl/plain.h"
#include "ctl/query.h"

#include "ctl/json_output.h"
#include "db/sync.h"

#include <stdio.h>
#include <stdlib.h>

enum { FLOW, DIFFERENCE };

/* $1: the descriptor, $2: apply. One row a difference; one without when there is
 * none, so that the flow is named. */
static const char drift_sql[] =
    "select $1::jsonb ->> 'flowSlug' as flow, d.difference from (select 1) as one left join"
    " unnest(case when $2::boolean"
    "   then pgflow.apply_flow_options($1::jsonb ->> 'flowSlug', $1::jsonb)"
    "   else pgflow.flow_option_drift($1::jsonb ->> 'flowSlug', $1::jsonb) end)"
    " as d (difference) on true";

static const char drift_json_sql[] =
    "select $1::jsonb ->> 'flowSlug' as flow, to_jsonb(d.differences) as differences,"
    " $2::boolean and d.differences <> '{}' as applied"
    " from (select case when $2::boolean"
    "   then pgflow.apply_flow_options($1::jsonb ->> 'flowSlug', $1::jsonb)"
    "   else pgflow.flow_option_drift($1::jsonb ->> 'flowSlug', $1::jsonb) end as differences) d";

/* True when something differed. */
static bool print_differences(const struct db_rows *rows, bool apply)
{
    const char *flow = db_rows_text(rows, 0, FLOW);
    bool differs = db_rows_text(rows, 0, DIFFERENCE) != NULL;
    if (!differs) {
        printf("%s: the stored options are those of the module\n", flow);
        return false;
    }
    for (size_t i = 0; i < db_rows_count(rows); i++) {
        plain_print(stdout, db_rows_text(rows, i, DIFFERENCE));
        printf("\n");
    }
    (void)fflush(stdout);
    if (apply)
        printf("%s: applied, for claims from now on\n", flow);
    else
        fprintf(stderr, "\nthe stored ones count; pgflowctl options FILE.so --apply takes those of "
                        "the module\n");
    return true;
}

static bool json_differs(const struct db_rows *rows)
{
    const char *list = db_rows_text(rows, 0, DIFFERENCE);
    json_print_row(stdout, rows, 0);
    printf("\n");
    return list != NULL && list[1] != ']';
}

static int execute(struct invocation *invocation, struct error *error)
{
    bool apply = invocation_value(invocation, "apply") != NULL;
    char *descriptor = module_descriptor_read(invocation->arguments[0], error);
    if (descriptor == NULL)
        return FAILED;
    const char *values[] = {descriptor, apply ? "t" : "f"};
    struct db_rows *rows =
        query_rows(invocation->db, invocation->json ? drift_json_sql : drift_sql, values, 2, error);
    free(descriptor);
    if (rows == NULL)
        return FAILED;
    bool differs = invocation->json ? json_differs(rows) : print_differences(rows, apply);
    db_rows_destroy(rows);
    return differs && !apply ? ERROR_ANSWER_NO : DONE;
}

const struct command command_options = {
    .name = "options",
    .arguments = "FILE.so",
    .summary = "compare a module's options with the stored ones, or apply them",
    .help = "Attempts, delays and timeouts of a flow stay as they were compiled, whatever a newer\n"
            "module says. Prints each difference; exit 1 if there is one, otherwise 0. --apply\n"
            "stores the options of the module, for claims from then on. A module of another\n"
            "structure is refused, because it is another flow.\n",
    .least = 1,
    .most = 1,
    .needs_database = true,
    .examples = "pgflowctl options ./audit_v2.so\n"
                "pgflowctl options ./audit_v2.so --apply\n",
    .run = execute,
    .options = {{"apply", NULL, "store the module's options"}},
};
