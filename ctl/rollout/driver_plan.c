/*
 * --dry-run: what a driver would do from here.
 */
#include "ctl/rollout/driver.h"

#include "base/buf.h"
#include "base/limits.h"
#include "ctl/query.h"
#include "ctl/rollout/hooks.h"
#include "ctl/rollout/manifest.h"
#include "ctl/rollout/rollout_rows.h"
#include "db/sync.h"

#include <string.h>

static const char deploys[] = "would wait until a host with the modules of the manifest stands by "
                              "for each function that is replaced or added";

static const char *const texts[DRIVER_STEPS] = {
    [STEP_LOAD] = "would load the manifest",
    [STEP_FENCE] = "would insert the functions that have no row, and disable what is replaced",
    [STEP_DEPRECATE] = "would deprecate the old workers of what is replaced",
    [STEP_WAIT] = "would wait until none of them works or has a task",
    [STEP_DEPLOY] = deploys,
    [STEP_APPLY] = "would set the final states and pin the functions to those modules",
    [STEP_CONFIRM] = "would wait until live workers cover every queue",
    [STEP_SWITCH] = "would ask, then let new starts go to the new version, if there is one",
    [STEP_DRAIN] = "would wait until the old version is drained, if there is one",
    [STEP_RETIRE] = "would ask, then retire the old version and what is kept draining for it",
};

static void put_words(struct buf *out, const char *const *words)
{
    for (; *words != NULL; words++)
        buf_printf(out, " %s", *words);
}

/* What the hooks would run for the functions of one kind of step. */
static void put_hooks(const struct driver *driver, enum driver_step step, struct buf *out)
{
    for (size_t i = 0; i < manifest_count(driver->manifest); i++) {
        const char *words[HOOK_WORDS + 1];
        const char *function = manifest_text(driver->manifest, i, "functionName");
        const char *action = manifest_text(driver->manifest, i, "action");
        bool is_new = strcmp(action, "replace") == 0 || strcmp(action, "add") == 0;
        if (is_new != (step == STEP_DEPLOY) ||
            strcmp(manifest_text(driver->manifest, i, "startMode"), "process") != 0)
            continue;
        if (!hooks_has(driver->hooks, function)) {
            buf_printf(out, "\nfunction \"%s\": no hooks; would say what to do, and wait",
                       function);
            continue;
        }
        for (int hook = HOOK_STATUS; hook >= 0; hook--) {
            if (!is_new && hook == HOOK_START)
                continue;
            hooks_command(driver->hooks, function, (enum hook)hook, words);
            buf_printf(out, "\nfunction \"%s\": %s %s:", function,
                       hook == HOOK_STATUS ? "would ask" : "as far as needed,",
                       hook_name((enum hook)hook));
            put_words(out, words);
        }
    }
}

static const char *state_of(const struct db_rows *rows, const char *name)
{
    for (size_t i = 0; i < db_rows_count(rows); i++) {
        if (strcmp(db_rows_text(rows, i, NAME), name) == 0)
            return db_rows_text(rows, i, STATE);
    }
    return "";
}

static bool is_left_out(const struct driver *driver, enum driver_step step)
{
    return (step == STEP_DEPRECATE || step == STEP_WAIT) &&
           !manifest_has(driver->manifest, "replace");
}

static bool plan_step(const struct driver *driver, const struct db_rows *rows,
                      enum driver_step step, struct error *error)
{
    struct buf text;
    buf_init(&text, LIMIT_MIB);
    if (strcmp(state_of(rows, driver_step_names[step]), "done") == 0)
        buf_puts(&text, "is done");
    else
        buf_puts(&text, texts[step]);
    if (step == STEP_DEPLOY || step == STEP_RETIRE)
        put_hooks(driver, step, &text);
    bool ok = buf_ok(&text);
    if (ok)
        report_event(&driver->report, driver_step_names[step], "would", text.data);
    buf_free(&text);
    return ok || error_out_of_memory(error);
}

/* The database would refuse it. */
static bool check(const struct driver *driver, struct error *error)
{
    static const char sql[] = "select string_agg(p.line, e'\\n')"
                              " from pgflow.manifest_problems($1::jsonb) as p (line)";
    const char *text = driver->manifest->text.data;
    struct db_rows *rows = query_rows(driver->db, sql, &text, 1, error);
    if (rows == NULL)
        return false;
    const char *problems = db_rows_text(rows, 0, 0);
    if (problems != NULL)
        (void)error_set(error, ERROR_ANSWER_NO, "the manifest would be refused:\n%s", problems);
    db_rows_destroy(rows);
    return problems == NULL;
}

bool driver_plan(const struct driver *driver, struct error *error)
{
    struct db_rows *rows = rollout_rows(driver->db, driver->manifest->deployment,
                                        driver->manifest->text.data, false, error);
    if (rows == NULL)
        return false;
    const char *name = db_rows_text(rows, 0, NAME);
    bool is_known = strcmp(name, "load") == 0;
    bool is_planned = true;
    if (!is_known && strcmp(name, "file") != 0)
        is_planned = error_set(error, ERROR_ANSWER_NO, "deployment \"%s\" is %s: %s%s",
                               driver->manifest->deployment, db_rows_text(rows, 0, STATE),
                               db_rows_text(rows, 0, WAITS_FOR), db_rows_text(rows, 0, NOTES));
    else if (strcmp(db_rows_text(rows, 0, STATE), "done") != 0)
        is_planned = check(driver, error);
    for (int step = STEP_LOAD; is_planned && step < DRIVER_STEPS; step++) {
        if (!is_left_out(driver, (enum driver_step)step))
            is_planned = plan_step(driver, rows, (enum driver_step)step, error);
        if (driver->until == (enum driver_step)step)
            break;
    }
    db_rows_destroy(rows);
    return is_planned;
}
