/*
 * The pool of runners and what it tells: turns its callbacks into results, suspended pairs and log
 * lines.
 */
#include "worker/worker_private.h"

#include <pgflow/module.h>

#include "log/log.h"
#include "worker/telemetry.h"

static enum log_level level_of(int pgf_level)
{
    switch (pgf_level) {
    case PGF_LOG_DEBUG:
        return LOG_LEVEL_DEBUG;
    case PGF_LOG_WARN:
        return LOG_LEVEL_WARN;
    case PGF_LOG_ERROR:
        return LOG_LEVEL_ERROR;
    default:
        return LOG_LEVEL_INFO;
    }
}

static const struct task *task_of(const struct pool_task *task)
{
    return task == NULL ? NULL : task->data;
}

static void on_started(void *context, struct pool_task *pool_task)
{
    struct worker *worker = context;
    struct task *task = pool_task->data;

    task->started = true;
    telemetry_task_started(worker, task);
    task_set_stage(&worker->tasks, task, STAGE_RUNNING);
    if (worker->tasks.count[STAGE_WAITING] == 0)
        worker_wake(worker); /* a narrow claim may go out now */
    log_debug("task_started", "handler started", LOG_QUEUE(worker->queue),
              LOG_FLOW(task->row->flow), LOG_STEP(task->row->step), LOG_RUN(task->row->run_id),
              LOG_TASK(task->row->task_index), LOG_ATTEMPT(task->row->attempt),
              LOG_MSG_ID(task->row->msg_id));
}

static void on_done(void *context, struct pool_task *pool_task, const struct pool_result *result)
{
    results_take(context, pool_task->data, result);
}

static void on_line(void *context, const struct pool_line *line)
{
    struct worker *worker = context;
    const struct task *task = task_of(line->task);

    LOG_AT(level_of(line->level), "handler_output", line->text, LOG_QUEUE(worker->queue),
           LOG_FLOW(pool_module_flow(line->module)),
           LOG_STEP(task != NULL ? task->row->step : NULL),
           LOG_RUN(task != NULL ? task->row->run_id : NULL),
           task != NULL ? LOG_TASK(task->row->task_index) : LOG_FIELD_NONE,
           task != NULL ? LOG_ATTEMPT(task->row->attempt) : LOG_FIELD_NONE, LOG_PID(line->pid));
}

static void on_event(void *context, const struct pool_event *event)
{
    struct worker *worker = context;
    const struct task *task = task_of(event->task);

    LOG_AT(level_of(event->level), event->name, event->text, LOG_QUEUE(worker->queue),
           LOG_FLOW(event->module != NULL ? pool_module_flow(event->module) : NULL),
           LOG_STEP(task != NULL ? task->row->step : NULL),
           LOG_RUN(task != NULL ? task->row->run_id : NULL),
           task != NULL ? LOG_TASK(task->row->task_index) : LOG_FIELD_NONE,
           event->pid != 0 ? LOG_PID(event->pid) : LOG_FIELD_NONE);
}

static void collect_suspended_pairs(struct worker *worker)
{
    size_t count = registry_pair_count(worker->registry);

    worker->suspended_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct deployment_step *step = registry_pair(worker->registry, i);
        if (worker->modules[step->deployment->module].suspended)
            worker->suspended[worker->suspended_count++] = worker->pairs[i];
    }
}

static void on_module_state(void *context, struct pool_module *pool_module,
                            enum pool_module_state state, const char *reason)
{
    (void)reason; /* the pool logs it as an event */
    struct worker *worker = context;
    struct worker_module *module = pool_module_data(pool_module);
    bool suspended = state == POOL_MODULE_SUSPENDED;

    module->suspended = suspended;
    module->answered = true;
    collect_suspended_pairs(worker);
    if (worker->life.state == WORKER_STARTING)
        startup_module_answered(worker);
    else if (!suspended)
        claim_loop_expect_work(worker);
    worker_wake(worker);
}

bool runners_create(struct worker *worker, struct error *error)
{
    const struct settings *settings = worker->settings;
    struct pool_config config = {
        .loop = &worker->loop,
        .runner_program = worker->runner_program,
        .concurrency = (uint32_t)settings->concurrency,
        .max_payload = (size_t)settings->max_payload * LIMIT_MIB,
        .handler_memory = (size_t)settings->handler_memory * LIMIT_MIB,
        .handler_files = worker->handler_files,
        .handler_core = settings->handler_core,
        .handler_uid = worker->handler_uid,
        .handler_gid = worker->handler_gid,
        .runner_max_tasks = (uint32_t)settings->runner_max_tasks,
        .runner_idle_s = (uint32_t)settings->runner_idle,
        .pass_env = (const char *const *)settings->pass_env.items,
        .callbacks = {.on_started = on_started,
                      .on_done = on_done,
                      .on_module_state = on_module_state,
                      .on_line = on_line,
                      .on_event = on_event},
        .context = worker,
    };

    worker->pool = pool_create(&config, error);
    if (worker->pool == NULL)
        return false;
    for (size_t i = 0; i < worker->module_count; i++) {
        struct worker_module *module = &worker->modules[i];
        module->pool =
            pool_add_module(worker->pool, module->file, module->deployment->flow, module, error);
        if (module->pool == NULL)
            return false;
    }
    return true;
}
