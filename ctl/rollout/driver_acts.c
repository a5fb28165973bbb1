/*
 * The statements of a driver.
 */
#include "ctl/rollout/driver_acts.h"

#include "ctl/query.h"
#include "ctl/rollout/driver_lock.h"
#include "ctl/rollout/manifest.h"
#include "db/sync.h"

#include <stdlib.h>
#include <string.h>

/* $1: whose lock, $2: the deployment, $3: its manifest. A subselect runs only where the
 * case comes to it. Null: another driver has the lock. */
#define LOCKED(what) "select case when " DRIVER_LOCK_SQL " then coalesce((" what "), '') end"

static const char *const acts[DRIVER_STEPS] = {
    [STEP_LOAD] = LOCKED("select format('loaded deployment \"%s\"', l.deployment)"
                         " from pgflow.load_manifest($3::jsonb) as l where $2::text is not null"),
    [STEP_FENCE] = LOCKED(
        "select 'disabled: ' || coalesce((select string_agg(format('\"%s\"', e.function_name), ', '"
        "   order by e.function_name) from pgflow.manifest_entries($2) as e"
        "   where e.action in ('replace', 'add')), 'nothing, for nothing is replaced or added')"
        " from pgflow.rollout_fence($2) where coalesce($3, '') is not null"),
    [STEP_DEPRECATE] = LOCKED("select format('deprecated %s %s', n, case n when 1 then 'worker'"
                              "   else 'workers' end) from pgflow.rollout_deprecate($2) as n"
                              " where coalesce($3, '') is not null"),
    [STEP_APPLY] =
        LOCKED("select string_agg(format('\"%s\" is %s', a.function_name, case when a.enabled"
               "   then 'enabled' else 'disabled' end), ', ' order by a.function_name)"
               " from pgflow.rollout_apply($2) as a where coalesce($3, '') is not null"),
    [STEP_SWITCH] = LOCKED(
        "select string_agg(format('alias \"%s\": from \"%s\" to \"%s\"', s.alias,"
        "   coalesce(s.from_flow_slug, '(nothing)'), s.to_flow_slug), e'\\n' order by s.alias)"
        " from pgflow.rollout_switch($2) as s where coalesce($3, '') is not null"),
    [STEP_RETIRE] = LOCKED(
        "select string_agg(case r.stage when 'deprecated' then format('deprecated the workers of"
        " function \"%s\"', r.name) else format('retired flow \"%s\"', r.name) end, e'\\n'"
        "   order by r.name) from pgflow.rollout_retire($2) as r where coalesce($3, '') is not "
        "null"),
};

bool driver_acts_at(enum driver_step step)
{
    return acts[step] != NULL;
}

bool driver_act(struct driver *driver, enum driver_step step, const char *deployment,
                const char *manifest, struct error *error)
{
    const char *values[] = {driver->lock, deployment, manifest};
    if (acts[step] == NULL)
        return true;
    struct db_rows *rows = query_rows(driver->db, acts[step], values, 3, error);
    if (rows == NULL)
        return false;
    const char *did = db_rows_text(rows, 0, 0);
    bool done = did != NULL;
    if (done && *did)
        report_event(&driver->report, driver_step_names[step], "did", did);
    db_rows_destroy(rows);
    return done || driver_lock_refuse(driver->db, driver->lock, error);
}

char *driver_retirement(struct driver *driver, bool only_begun, struct error *error)
{
    static const char sql[] =
        "select r.manifest from pgflow.retirement_manifest($1) as r (manifest)"
        " where r.manifest is not null and (not $2::boolean or exists ("
        "   select from pgflow.deployment_manifest d"
        "   where d.deployment = r.manifest ->> 'deployment'))";
    const char *values[] = {driver->manifest->deployment, only_begun ? "true" : "false"};
    struct db_rows *rows = query_rows(driver->db, sql, values, 2, error);
    char *text = NULL;
    if (rows == NULL)
        return NULL;
    if (db_rows_count(rows) > 0) {
        text = strdup(db_rows_text(rows, 0, 0));
        if (text == NULL)
            (void)error_out_of_memory(error);
    }
    db_rows_destroy(rows);
    return text;
}
