/*
 * The options of `run`; the work is the driver's. --then drives another manifest after
 * the first.
 */
#include "ctl/rollout/rollout_run.h"

#include "base/text.h"
#include "ctl/command.h"
#include "ctl/rollout/driver.h"
#include "ctl/rollout/hooks.h"
#include "ctl/rollout/manifest.h"

#include <string.h>

enum { TIMEOUT_S = 900, DRAIN_TIMEOUT_S = 86400, TIMEOUT_MOST_S = 31536000 };

static const char *const run_options[] = {"until",   "dry-run",       "yes", "hooks",
                                          "timeout", "drain-timeout", "then"};

bool rollout_run_options_fit(const struct invocation *invocation, const char *verb,
                             struct error *error)
{
    for (size_t i = 0; i < sizeof run_options / sizeof run_options[0]; i++) {
        if (strcmp(verb, "run") != 0 && invocation_value(invocation, run_options[i]) != NULL)
            return error_set(error, ERROR_USAGE, "--%s goes with rollout MANIFEST.json run",
                             run_options[i]);
    }
    return true;
}

static bool read_until(const struct invocation *invocation, enum driver_step *until,
                       struct error *error)
{
    const char *name = invocation_value(invocation, "until");
    *until = STEP_NONE;
    if (name == NULL)
        return true;
    for (int i = STEP_LOAD; i < DRIVER_STEPS; i++) {
        if (strcmp(name, driver_step_names[i]) == 0)
            *until = (enum driver_step)i;
    }
    const char *near = text_nearest(name, driver_step_names + 1, DRIVER_STEPS - 1);
    return *until != STEP_NONE ||
           error_set(error, ERROR_USAGE,
                     "--until '%s': give load, fence, deprecate, wait, deploy, apply, confirm, "
                     "switch, drain or retire%s%s",
                     text_shown(name), near != NULL ? "; did you mean " : "",
                     near != NULL ? near : "");
}

static bool read_options(const struct invocation *invocation, struct driver *driver,
                         struct error *error)
{
    if (invocation_value(invocation, "then") != NULL &&
        invocation_value(invocation, "until") != NULL)
        return error_set(error, ERROR_USAGE,
                         "--then drives another manifest once this one is through, and --until "
                         "ends before that; give one of them");
    driver->yes = invocation_value(invocation, "yes") != NULL;
    return read_until(invocation, &driver->until, error) &&
           invocation_number(invocation, "timeout", 1, TIMEOUT_MOST_S, TIMEOUT_S,
                             &driver->timeout_s, error) &&
           invocation_number(invocation, "drain-timeout", 1, TIMEOUT_MOST_S, DRAIN_TIMEOUT_S,
                             &driver->drain_timeout_s, error);
}

/* --hooks is for the first manifest; that of --then has its own beside it. */
static bool drive(struct invocation *invocation, const struct driver *options,
                  const struct manifest *manifest, const char *path, const char *hooks_path,
                  struct error *error)
{
    struct hooks hooks;
    if (!hooks_read(&hooks, hooks_path, path, error))
        return false;
    struct driver driver = *options;
    driver.db = invocation->db;
    driver.manifest = manifest;
    driver.path = path;
    driver.hooks = &hooks;
    driver.report = (struct report){.json = invocation->json, .deployment = manifest->deployment};
    bool done = invocation_value(invocation, "dry-run") != NULL ? driver_plan(&driver, error)
                                                                : driver_run(&driver, error);
    driver_free(&driver);
    hooks_free(&hooks);
    return done;
}

int rollout_run(struct invocation *invocation, const struct manifest *manifest, struct error *error)
{
    struct driver options = {.yes = false};
    struct manifest then;
    const char *then_path = invocation_value(invocation, "then");
    if (!read_options(invocation, &options, error))
        return FAILED;
    /* Read before anything is done: a file that cannot be read is no surprise at the end. */
    if (then_path != NULL && !manifest_read(&then, then_path, error))
        return FAILED;
    bool done = drive(invocation, &options, manifest, invocation->arguments[0],
                      invocation_value(invocation, "hooks"), error);
    if (then_path != NULL) {
        done = done && drive(invocation, &options, &then, then_path, NULL, error);
        manifest_free(&then);
    }
    return done ? DONE : FAILED;
}
