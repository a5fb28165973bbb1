/*
 * Asking for the steps of a deployment.
 */
#include "ctl/rollout/rollout_rows.h"

#include "ctl/query.h"

#include <string.h>

/* A deployment that nobody loaded is at its first step. */
#define STATUS_ROWS                                                                                \
    "with known as (select d.deployment, d.manifest <> $2::jsonb as differs,"                      \
    "                      coalesce(d.fenced_at, d.applied_at) is not null as has_begun"           \
    "               from pgflow.deployment_manifest d where d.deployment = $1),"                   \
    " steps as ("                                                                                  \
    "  select s.* from known k cross join lateral pgflow.rollout_progress(k.deployment) s"         \
    "  union all select 1, 'load', 'now', array['psql: the first block of: rollout MANIFEST sql']" \
    "    , '{}'::text[] where not exists (select from known)"                                      \
    "  union all select 0, 'file', 'now', array['the file differs from the manifest that was"      \
    " loaded' || case when k.has_begun then ', and whose deployment has begun: give the file a"    \
    " deployment name of its own' else ': load it, or give it a name of its own' end]"             \
    "    , '{}'::text[] from known k where k.differs) "

static const char status_sql[] = STATUS_ROWS
    "select step, name, state, array_to_string(waits_for, e'\\n'), array_to_string(notes, e'\\n')"
    " from steps order by 1";
static const char status_json_sql[] =
    STATUS_ROWS "select step, name, state, to_jsonb(waits_for) as waits_for,"
                " to_jsonb(notes) as notes from steps order by 1";

struct db_rows *rollout_rows(struct db_sync *db, const char *deployment, const char *manifest,
                             bool json, struct error *error)
{
    const char *values[] = {deployment, manifest};
    return query_rows(db, json ? status_json_sql : status_sql, values, 2, error);
}

bool rollout_is_over(const char *state)
{
    return strcmp(state, "done") == 0 || strcmp(state, "superseded") == 0;
}
