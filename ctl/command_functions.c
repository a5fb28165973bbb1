/*
 * pgflowctl functions: the rows of worker_functions, and the operator's four
 * levers. Disabling and deprecating are two commands on purpose: two
 * transactions, in that order.
 */
#include "ctl/command.h"
#include "ctl/query.h"

#include "base/buf.h"
#include "base/text.h"
#include "db/sync.h"

#include <stdio.h>
#include <string.h>

static const struct query_print print = {
    .sql = "select f.function_name as function,"
           " case when f.enabled then 'enabled' when f.paused_at is not null then 'paused'"
           "      else 'disabled' end as state, f.start_mode as start,"
           " (select count(*) from pgflow.workers w where w.function_name = f.function_name"
           "   and pgflow.worker_is_live(w.worker_id) and not w.standby) as working,"
           " (select count(*) from pgflow.workers w where w.function_name = f.function_name"
           "   and pgflow.worker_is_live(w.worker_id) and w.standby) as \"standing by\","
           " case when f.paused_at is not null then 'since ' || date_trunc('second', f.paused_at)"
           "   || ': unsupported work on queue ' || coalesce(f.pause_reason ->> 'queue', '?')"
           "   || coalesce(': ' || (select string_agg(concat_ws('.', p ->> 'flowSlug', p ->> "
           "'stepSlug'), ', ')"
           "      from jsonb_array_elements(f.pause_reason -> 'pairs') p), '')"
           "  when not f.enabled then 'deployment \"' || pgflow.function_fence(f.function_name)"
           "   || '\" has fenced it' end as why"
           " from pgflow.worker_functions f order by 1",
    .json_sql = "select f.function_name as function, f.enabled, f.start_mode, f.paused_at,"
                " f.pause_reason, f.last_invoked_at,"
                " (select count(*) from pgflow.workers w where w.function_name = f.function_name"
                "   and pgflow.worker_is_live(w.worker_id) and not w.standby) as working,"
                " (select count(*) from pgflow.workers w where w.function_name = f.function_name"
                "   and pgflow.worker_is_live(w.worker_id) and w.standby) as standing_by"
                " from pgflow.worker_functions f order by 1",
    .nothing = "no worker functions",
    .flexible = 5,
};

struct lever {
    const char *verb;
    const char *sql; /* $1: the names as a JSON list; $2: --force */
    const char *done;
    bool takes_force;
};

#define NAMES "array(select jsonb_array_elements_text($1::jsonb))"

static const struct lever levers[] = {
    {"enable", "select pgflow.enable_worker_functions(" NAMES ", $2::boolean)", "enabled", true},
    {"disable", "select pgflow.disable_worker_functions(" NAMES ")", "disabled", false},
    {"deprecate", "select pgflow.deprecate_function_workers(" NAMES ", $2::boolean)",
     "deprecated the workers of", true},
    {"unpin", "select pgflow.unpin_worker_function(n) from jsonb_array_elements_text($1::jsonb) n",
     "unpinned", false},
    {"delete",
     "select pgflow.delete_worker_function(n) from jsonb_array_elements_text($1::jsonb) n",
     "deleted", false},
};
enum { LEVERS = sizeof levers / sizeof levers[0] };

static const struct lever *find_lever(const char *verb, struct error *error)
{
    const char *verbs[LEVERS];
    for (size_t i = 0; i < LEVERS; i++) {
        verbs[i] = levers[i].verb;
        if (strcmp(verb, verbs[i]) == 0)
            return &levers[i];
    }
    const char *near = text_nearest(verb, verbs, LEVERS);
    (void)error_set(error, ERROR_USAGE,
                    "functions '%s': give enable, disable, deprecate, unpin or delete%s%s", verb,
                    near != NULL ? "; did you mean " : "", near != NULL ? near : "");
    return NULL;
}

static bool pull(struct invocation *invocation, const struct lever *lever, struct error *error)
{
    struct buf names;
    buf_init(&names, LIMIT_MIB);
    for (size_t i = 1; i < invocation->count; i++) {
        const char *name = invocation->arguments[i];
        buf_putc(&names, i == 1 ? '[' : ',');
        buf_put_json_string(&names, name, strlen(name));
    }
    buf_putc(&names, ']');
    const char *values[] = {names.data, invocation_value(invocation, "force") != NULL ? "t" : "f"};
    struct db_rows *rows = buf_ok(&names) ? query_rows(invocation->db, lever->sql, values,
                                                       lever->takes_force ? 2 : 1, error)
                                          : NULL;
    bool done = rows != NULL || (!buf_ok(&names) && error_out_of_memory(error));
    db_rows_destroy(rows);
    buf_free(&names);
    return done;
}

static int execute(struct invocation *invocation, struct error *error)
{
    if (invocation->count == 0)
        return query_print(invocation->db, invocation->json, &print, NULL, 0, error) ? DONE
                                                                                     : FAILED;
    const struct lever *lever = find_lever(invocation->arguments[0], error);
    if (lever == NULL)
        return FAILED;
    if (invocation->count == 1) {
        (void)error_set(error, ERROR_USAGE,
                        "functions %s: name the functions; pgflowctl functions lists them",
                        lever->verb);
        return FAILED;
    }
    if (!lever->takes_force && invocation_value(invocation, "force") != NULL) {
        (void)error_set(error, ERROR_USAGE, "functions %s: --force is for enable and deprecate",
                        lever->verb);
        return FAILED;
    }
    if (!pull(invocation, lever, error))
        return FAILED;
    if (invocation->json)
        return query_print(invocation->db, true, &print, NULL, 0, error) ? DONE : FAILED;
    for (size_t i = 1; i < invocation->count; i++)
        printf("%s %s\n", lever->done, invocation->arguments[i]);
    return DONE;
}

const struct command command_functions = {
    .name = "functions",
    .arguments = "[enable|disable|deprecate|unpin|delete FUNCTION...]",
    .summary = "list worker functions, or change them",
    .help = "enable     lets workers of the functions start, and clears a pause. Refused (exit\n"
            "           1) while an open deployment has fenced one of them\n"
            "disable    stops their workers and keeps new ones from starting\n"
            "deprecate  tells their live workers to finish their tasks and end. Refused\n"
            "           (exit 1) while one is enabled, because its old code would come back\n"
            "unpin      lets any modules serve, not only those of the applied manifest: for a\n"
            "           hot fix, until the next manifest is applied\n"
            "delete     deletes disabled functions that have no live worker\n",
    .most = INVOCATION_ARGUMENTS,
    .needs_database = true,
    .examples = "pgflowctl functions\n"
                "pgflowctl functions disable pgflow-host/audit\n"
                "pgflowctl functions deprecate pgflow-host/audit\n"
                "pgflowctl functions enable pgflow-host/audit\n"
                "pgflowctl functions unpin pgflow-host/audit\n"
                "pgflowctl functions delete pgflow-host/trial\n",
    .run = execute,
    .options = {{"force", NULL, "enable what is fenced, deprecate what is enabled"}},
};
