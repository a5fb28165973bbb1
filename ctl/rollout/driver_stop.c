/*
 * What a rollout is like while it stands at a step.
 */
#include "ctl/rollout/driver_stop.h"

#include "base/limits.h"

#include <stdio.h>

static const char fenced[] =
    "What it replaces or adds is disabled: no host of it claims, and its work waits in the queues. "
    "Everything else serves on.";
static const char serving[] =
    "The hosts of the manifest may serve, and no others of its functions. New starts go where they "
    "went.";

static const char draining[] = "Both versions serve: new starts go to the new one, and runs of the "
                               "old one end on the old one.";

static const char *const states[DRIVER_STEPS] = {
    [STEP_NONE] = "Every step in the database is done.",
    [STEP_LOAD] = "Nothing has changed.",
    [STEP_FENCE] = "No function was changed by this driver.",
    [STEP_DEPRECATE] = fenced,
    [STEP_WAIT] = fenced,
    [STEP_DEPLOY] = fenced,
    [STEP_APPLY] = fenced,
    [STEP_CONFIRM] = serving,
    [STEP_SWITCH] = serving,
    [STEP_DRAIN] = draining,
    [STEP_RETIRE] = "The old version is drained, and stays in service until it is retired.",
};

/* Wrong use and wrong rights say themselves what to do, and are not a state. */
void driver_stop(struct driver *driver, enum driver_step step, struct error *error)
{
    if (error->code == ERROR_ANSWER_NO || error->code == ERROR_UNAVAILABLE) {
        char reason[LIMIT_ERROR_TEXT];
        int size = snprintf(reason, sizeof reason, "%.3000s", error->text);
        if (size > 0 && reason[size - 1] == '\n')
            reason[size - 1] = '\0';
        (void)error_set(error, error->code,
                        "stopped%s%s: %s\nSafe: %s\nMend it and run the same command again, which "
                        "goes on here; or take the deployment back: pgflowctl rollout %.400s abort",
                        step != STEP_NONE ? " at step " : "", driver_step_names[step], reason,
                        states[step], driver->path);
    }
    if (driver->report.json)
        report_event(&driver->report, driver_step_names[step], "stopped", error->text);
}
