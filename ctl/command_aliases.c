/*
 * pgflowctl aliases: every concrete flow by alias, the active one first. A plain flow
 * that is retired keeps its alias, and takes no runs all the same.
 */
#include "ctl/command.h"
#include "ctl/query.h"

#define VERSIONS                                                                                   \
    "with versions as ("                                                                           \
    "  select f.alias, f.flow_slug, f.queue_mode, f.created_at, f.retired_at, a.activated_at,"     \
    "    a.active_flow_slug = f.flow_slug as active,"                                              \
    "    (select count(*) from pgflow.runs r"                                                      \
    "     where r.flow_slug = f.flow_slug and r.status = 'started') as running"                    \
    "  from pgflow.flows f left join pgflow.flow_aliases a using (alias)) "
#define STATE                                                                                      \
    "case when v.retired_at is not null then 'retired' when v.active then 'active'"                \
    " when v.running > 0 then 'draining' else 'idle' end"
#define ORDER " from versions v order by v.alias, v.active desc nulls last, v.created_at desc"

static const struct query_print print = {
    .sql = VERSIONS "select v.alias, v.flow_slug as flow, " STATE " as state, v.running as runs,"
                    " v.queue_mode as queues,"
                    " to_char(v.created_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS')"
                    "   as \"compiled (UTC)\","
                    " case when v.active then to_char(v.activated_at at time zone 'UTC',"
                    "   'YYYY-MM-DD HH24:MI:SS') end as \"active since (UTC)\"" ORDER,
    .json_sql = VERSIONS "select v.alias, v.flow_slug as flow, " STATE
                         " as state, coalesce(v.active, false) as active,"
                         " v.running as runs, v.queue_mode, v.created_at, v.retired_at,"
                         " case when v.active then v.activated_at end as activated_at" ORDER,
    .nothing = "no flows",
    .flexible = 1,
};

static int execute(struct invocation *invocation, struct error *error)
{
    return query_print(invocation->db, invocation->json, &print, NULL, 0, error) ? DONE : FAILED;
}

const struct command command_aliases = {
    .name = "aliases",
    .arguments = "",
    .summary = "list aliases and the versions behind them",
    .help = "Prints one line for each concrete flow: active, draining, drained or retired.\n",
    .needs_database = true,
    .examples = "pgflowctl aliases\n",
    .run = execute,
};
