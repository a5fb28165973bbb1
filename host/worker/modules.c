/*
 * Steps 2 to 5 of a start: inspect every module, fill the registry, bind the queue. Synchronous;
 * nothing of it touches the database, so a bad module changes nothing.
 */
#include "worker/worker_private.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log/log.h"

static bool find_handler_user(struct worker *worker, struct error *error)
{
    const char *name = worker->settings->handler_user;

    worker->handler_uid = (uid_t)-1;
    worker->handler_gid = (gid_t)-1;
    if (name == NULL)
        return true;
    errno = 0;
    const struct passwd *user = getpwnam(name);
    if (user == NULL)
        return error_set(error, ERROR_CONFIG, "--handler-user: there is no user '%s'", name);
    if (geteuid() != 0)
        return error_set(error, ERROR_CONFIG,
                         "--handler-user %s: only root can run handlers as another user; start the "
                         "host as root, or leave the option out",
                         name);
    worker->handler_uid = user->pw_uid;
    worker->handler_gid = user->pw_gid;
    return true;
}

/* The loop does not run while modules are inspected: turned once, it tells of signals. */
static bool is_stop_wanted(void *context)
{
    struct worker *worker = context;

    (void)uv_run(&worker->loop, UV_RUN_NOWAIT);
    return worker->life.state == WORKER_DRAINING;
}

static bool open_store(struct worker *worker, struct error *error)
{
    const struct settings *settings = worker->settings;

    worker->runner_program = runner_program_open(NULL, error);
    if (worker->runner_program < 0)
        return false;
    worker->store = module_store_open(
        &(struct module_store_config){.folder = settings->module_dir,
                                      .runner_program = worker->runner_program,
                                      .handler_uid = worker->handler_uid,
                                      .handler_gid = worker->handler_gid,
                                      .allow_writable = settings->allow_writable_plugins,
                                      .pass_env = (const char *const *)settings->pass_env.items,
                                      .stop = {.fd = uv_backend_fd(&worker->loop),
                                               .is_wanted = is_stop_wanted,
                                               .context = worker}},
        error);
    return worker->store != NULL;
}

static bool refuse_same_file(const struct worker *worker, const struct module_file *added,
                             struct error *error)
{
    for (size_t i = 0; i < worker->module_count; i++)
        if (module_file_same(worker->modules[i].file, added))
            return error_set(error, ERROR_CONFIG,
                             "%s and %s are the same file; give each module once",
                             module_file_path(worker->modules[i].file), module_file_path(added));
    return true;
}

static bool load_module(struct worker *worker, const char *path, struct error *error)
{
    struct module_file *file = module_file_open(worker->store, path, error);

    if (file == NULL)
        return false;
    if (!refuse_same_file(worker, file, error) ||
        !registry_add(worker->registry,
                      &(struct registry_module){.file = module_file_path(file),
                                                .descriptor = module_file_descriptor(file, NULL),
                                                .sha256 = module_file_sha256(file),
                                                .build_id = module_file_build_id(file)},
                      error)) {
        module_file_close(file);
        return false;
    }
    struct worker_module *module = &worker->modules[worker->module_count];
    module->file = file;
    module->deployment = registry_deployment(worker->registry, worker->module_count++);
    return true;
}

static bool bind_queue(struct worker *worker, struct error *error)
{
    if (!registry_bind_queue(worker->registry, worker->settings->queue, error))
        return false;
    worker->queue = registry_queue(worker->registry);
    worker->life.queue = worker->queue;
    int length =
        worker->settings->function != NULL
            ? snprintf(worker->function, sizeof worker->function, "%s", worker->settings->function)
            : snprintf(worker->function, sizeof worker->function, "pgflow-host/%s", worker->queue);
    if (length >= (int)sizeof worker->function)
        return error_set(error, ERROR_USAGE, "--function is longer than %d bytes",
                         LIMIT_FUNCTION_NAME);
    return true;
}

static bool make_pairs(struct worker *worker, struct error *error)
{
    size_t count = registry_pair_count(worker->registry);

    worker->pairs = calloc(count, sizeof *worker->pairs);
    worker->suspended = calloc(count, sizeof *worker->suspended);
    if (worker->pairs == NULL || worker->suspended == NULL)
        return error_out_of_memory(error);
    for (size_t i = 0; i < count; i++) {
        const struct deployment_step *step = registry_pair(worker->registry, i);
        worker->pairs[i] = (struct db_pair){.flow = step->deployment->flow, .step = step->slug};
    }
    return true;
}

/* Runners do not need the copies. */
static void log_copies(const struct worker *worker)
{
    const char *trouble = module_store_trouble(worker->store);

    if (trouble[0] != '\0')
        log_warn("no_module_copy",
                 "a copy of a module for debuggers was not made; work goes on without it",
                 LOG_QUEUE(worker->queue), LOG_ERROR(trouble));
}

bool modules_load(struct worker *worker, struct error *error)
{
    const struct settings_list *plugins = &worker->settings->plugins;

    worker->registry = registry_create(error);
    if (worker->registry == NULL || !find_handler_user(worker, error) || !open_store(worker, error))
        return false;
    /* From its first turn on the loop's descriptor shows that a signal came. */
    (void)is_stop_wanted(worker);
    for (size_t i = 0; i < plugins->count; i++)
        if (!load_module(worker, plugins->items[i], error))
            return false;
    if (!bind_queue(worker, error) || !make_pairs(worker, error))
        return false;
    log_copies(worker);
    return true;
}

void modules_unload(struct worker *worker)
{
    for (size_t i = 0; i < worker->module_count; i++)
        module_file_close(worker->modules[i].file);
    module_store_close(worker->store);
    registry_destroy(worker->registry);
    free(worker->pairs);
    free(worker->suspended);
    if (worker->runner_program >= 0)
        (void)close(worker->runner_program);
}

void modules_log_changed(struct worker *worker)
{
    for (size_t i = 0; i < worker->module_count; i++) {
        const struct worker_module *module = &worker->modules[i];
        char text[128];

        if (!module_file_changed(module->file))
            continue;
        snprintf(text, sizeof text, "the module file has changed; still running %.64s",
                 module_file_sha256(module->file));
        log_info("module_changed", text, LOG_QUEUE(worker->queue),
                 LOG_FLOW(module->deployment->flow),
                 LOG_FIELD_TEXT("file", module_file_path(module->file)),
                 LOG_FIELD_TEXT("sha256", module_file_sha256(module->file)));
    }
}
