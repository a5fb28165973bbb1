/*
 * The pool as the worker sees it: tasks in, callbacks out, and its own life. The
 * decisions are in pool_dispatch.c and pool_suspend.c.
 *
 * What must not happen inside a pool_ function (callbacks) waits for the
 * `deferred` timer, which rings in the next turn of the loop.
 */
#include "base/oom_kills.h"
#include "module/runner_command.h"
#include "pool/pool_internal.h"

#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pool_emit(struct pool_module *module, const char *name, int level,
               const struct pool_task *task, pid_t pid, const char *format, ...)
{
    const struct pool_config *config = &module->pool->config;
    char text[LIMIT_ERROR_TEXT];
    struct pool_event event = {
        .name = name, .level = level, .module = module, .task = task, .pid = pid, .text = text};
    va_list values;

    if (config->callbacks.on_event == NULL)
        return;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    config->callbacks.on_event(config->context, &event);
}

void pool_finish_task(struct pool *pool, struct pool_task *task, struct pool_result *result)
{
    task->state = TASK_DONE;
    task->runner = NULL;
    pool->task_count--;
    pool->config.callbacks.on_done(pool->config.context, task, result);
}

void pool_return_task(struct pool *pool, struct pool_task *task)
{
    task->state = TASK_RETURNING;
    task->runner = NULL;
    task_list_append(&pool->returning, task);
    pool_defer(pool);
}

static void finish_returning(struct pool *pool)
{
    while (task_list_first(&pool->returning) != NULL) {
        struct pool_task *task = task_list_first(&pool->returning);
        struct pool_result result = {.outcome = POOL_RETURNED, .retry_after_s = -1};

        task_list_remove(&pool->returning, task);
        pool_finish_task(pool, task, &result);
    }
}

static void announce_modules(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->module_count; i++) {
        struct pool_module *module = pool->modules[i];
        bool suspended = module->standing == MODULE_SUSPENDED;

        if (!module->announce)
            continue;
        module->announce = false;
        pool->config.callbacks.on_module_state(
            pool->config.context, module, suspended ? POOL_MODULE_SUSPENDED : POOL_MODULE_READY,
            !suspended                       ? NULL
            : module->suspend_reason == NULL ? ""
                                             : module->suspend_reason);
    }
}

static void on_deferred(uv_timer_t *timer)
{
    struct pool *pool = timer->data;

    finish_returning(pool);
    announce_modules(pool);
    pool_dispatch(pool);
    pool_continue_close(pool);
}

void pool_defer(struct pool *pool)
{
    if (!uv_is_closing((uv_handle_t *)&pool->deferred))
        (void)uv_timer_start(&pool->deferred, on_deferred, 0, 0);
}

static bool is_runner_of_ours(void *context, pid_t pid)
{
    struct pool *pool = context;
    struct runner *runner;

    for (uint32_t i = 0; i < pool->module_count; i++)
        for (int state = 0; state < RUNNER_EXITED; state++)
            TAILQ_FOREACH (runner, &pool->modules[i]->runners[state].runners, link)
                if (runner->pid == pid)
                    return true;
    return false;
}

static bool copy_config(struct pool *pool, const struct pool_config *config, struct error *error)
{
    pool->config = *config;
#ifdef PGFLOW_SANITIZED
    /* The runner sets none there: the shadow memory takes terabytes. */
    pool->config.handler_memory = 0;
#endif
    if (pool->config.ready_timeout_ms == 0)
        pool->config.ready_timeout_ms = LIMIT_READY_TIMEOUT_MS;
    if (pool->config.grace_ms == 0)
        pool->config.grace_ms = LIMIT_GRACE_MS;
    pool->environment = runner_environment(config->pass_env);
    pool->scratch = malloc(LIMIT_POOL_SCRATCH);
    return (pool->environment != NULL && pool->scratch != NULL) || error_out_of_memory(error);
}

static void free_pool(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->module_count; i++) {
        free(pool->modules[i]->suspend_reason);
        free(pool->modules[i]->flow);
        free(pool->modules[i]);
    }
    free(pool->environment);
    free(pool->scratch);
    free(pool);
}

struct pool *pool_create(const struct pool_config *config, struct error *error)
{
    struct pool *pool = calloc(1, sizeof *pool);

    if (pool == NULL) {
        (void)error_out_of_memory(error);
        return NULL;
    }
    task_list_init(&pool->returning);
    if (!copy_config(pool, config, error)) {
        free_pool(pool);
        return NULL;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    pool->reaper =
        reaper_create(config->loop, is_runner_of_ours, pool, pool->config.handler_memory, error);
    if (pool->reaper == NULL) {
        free_pool(pool);
        return NULL;
    }
    (void)uv_timer_init(config->loop, &pool->deferred);
    (void)uv_timer_init(config->loop, &pool->rebalance);
    pool->deferred.data = pool->rebalance.data = pool;
    pool->oom_kills = oom_kills();
    return pool;
}

struct pool_module *pool_add_module(struct pool *pool, const struct module_file *file,
                                    const char *flow, void *data, struct error *error)
{
    struct pool_module *module;

    if (pool->module_count == LIMIT_MODULES) {
        (void)error_set(error, ERROR_CONFIG, "more than %d modules", LIMIT_MODULES);
        return NULL;
    }
    module = calloc(1, sizeof *module);
    if (module == NULL || (module->flow = strdup(flow)) == NULL) {
        free(module);
        (void)error_out_of_memory(error);
        return NULL;
    }
    module->pool = pool;
    module->file = file;
    module->data = data;
    task_list_init(&module->queue);
    for (int state = 0; state < RUNNER_STATES; state++)
        TAILQ_INIT(&module->runners[state].runners);
    (void)uv_timer_init(pool->config.loop, &module->retry);
    module->retry.data = module;
    pool->modules[pool->module_count++] = module;
    return module;
}

void *pool_module_data(const struct pool_module *module)
{
    return module->data;
}

const char *pool_module_flow(const struct pool_module *module)
{
    return module->flow;
}

void pool_warm(struct pool_module *module)
{
    struct error error;

    if (module->standing == MODULE_SUSPENDED || module_has_ready_runner(module)) {
        module->announce = true;
        pool_defer(module->pool);
        return;
    }
    /* Its READY is news again, also when the module had been ready before. */
    module->standing = MODULE_UNTRIED;
    if (module->runners[RUNNER_STARTING].count == 0 && runner_spawn(module, &error) == NULL)
        module_note_failed_spawn(module, error.text);
}

void pool_submit(struct pool *pool, struct pool_task *task)
{
    task->sequence = ++pool->sequence;
    task->runner = NULL;
    task->number = 0;
    task->started_ns = 0;
    task->cancel_why = 0;
    task->timed_out = false;
    pool->task_count++;
    pool_enqueue(pool, task, false);
    /* What else comes in this turn of the loop may go to the same runner. */
    if (task->module->short_tasks >= LIMIT_SHORT_TASKS_IN_A_ROW)
        pool_defer(pool);
    else
        pool_dispatch(pool);
}

bool pool_recall(struct pool *pool, struct pool_task *task)
{
    if (task->state == TASK_RETURNING)
        return true;
    if (task->state == TASK_QUEUED)
        task_list_remove(&task->module->queue, task);
    else if (task->state != TASK_SENT || !runner_recall(task->runner, task))
        return false;
    pool_return_task(pool, task);
    return true;
}

void pool_cancel(struct pool *pool, struct pool_task *task, enum pool_cancel_why why)
{
    struct runner *runner = task->runner;
    const struct runner_slot *head = runner == NULL ? NULL : runner_head(runner);
    bool is_first;

    if (task->state == TASK_DONE || task->state == TASK_NEW || pool_recall(pool, task))
        return;
    is_first = task->cancel_why == 0;
    if (is_first || why == POOL_RUN_ENDED)
        task->cancel_why = (uint8_t)why;
    /* Behind another task it is asked to stop when it starts. */
    if (is_first && head != NULL && head->task == task && !task->timed_out)
        runner_ask_to_stop(runner);
}

void pool_note_stop(struct pool *pool)
{
    struct runner *runner;

    pool->stopping = true;
    for (uint32_t i = 0; i < pool->module_count; i++)
        TAILQ_FOREACH (runner, &pool->modules[i]->runners[RUNNER_EXITED].runners, link)
            if (runner->awaits_stop)
                runner_set_due(runner, uv_now(pool->config.loop));
}

static void kill_runners_of(struct pool_module *module)
{
    struct runner *runner;

    for (int state = RUNNER_STARTING; state <= RUNNER_STOPPING; state++)
        while ((runner = TAILQ_FIRST(&module->runners[state].runners)) != NULL)
            runner_kill(runner, state == RUNNER_STOPPING ? runner->cause : POOL_EXIT_KILLED);
}

void pool_kill_all(struct pool *pool)
{
    pool->killing = true;
    for (uint32_t i = 0; i < pool->module_count; i++) {
        (void)uv_timer_stop(&pool->modules[i]->retry);
        module_return_queue(pool->modules[i]);
        kill_runners_of(pool->modules[i]);
    }
}

const char *pool_exit_cause_name(enum pool_exit_cause cause)
{
    static const char *const names[POOL_EXIT_CAUSES] = {
        [POOL_EXIT_IDLE] = "idle",       [POOL_EXIT_RECYCLED] = "recycled",
        [POOL_EXIT_STOPPED] = "stopped", [POOL_EXIT_KILLED] = "killed",
        [POOL_EXIT_TIMEOUT] = "timeout", [POOL_EXIT_PROTOCOL] = "protocol",
        [POOL_EXIT_STUCK] = "stuck",     [POOL_EXIT_SIGNAL] = "signal",
        [POOL_EXIT_STATUS] = "status",   [POOL_EXIT_START] = "not_started",
    };

    return names[cause];
}

uint64_t pool_module_exits(const struct pool_module *module, enum pool_exit_cause cause)
{
    return module->exits[cause];
}

struct pool_gauges pool_gauges(const struct pool *pool)
{
    struct pool_gauges gauges = {.busy = pool->runners_in[RUNNER_BUSY],
                                 .idle = pool->runners_in[RUNNER_IDLE],
                                 .starting = pool->runners_in[RUNNER_STARTING],
                                 .stopping = pool->runners_in[RUNNER_STOPPING] +
                                             pool->runners_in[RUNNER_KILLED] +
                                             pool->runners_in[RUNNER_EXITED],
                                 .prefetched = pool->prefetched,
                                 .spawned = pool->spawned};

    for (uint32_t i = 0; i < pool->module_count; i++)
        gauges.queued += pool->modules[i]->queue.count;
    return gauges;
}

static void on_all_closed(void *context)
{
    struct pool *pool = context;
    void (*on_closed)(void *) = pool->on_closed;
    void *user = pool->config.context;

    free_pool(pool);
    if (on_closed != NULL)
        on_closed(user);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct pool *pool = handle->data;

    if (--pool->open_handles == 0)
        reaper_close(pool->reaper, on_all_closed, pool);
}

static void close_timer(struct pool *pool, uv_timer_t *timer)
{
    pool->open_handles++;
    timer->data = pool;
    uv_close((uv_handle_t *)timer, on_handle_closed);
}

/* Once, when no runner and no task is left. */
void pool_continue_close(struct pool *pool)
{
    uint32_t runners = 0;

    for (int state = 0; state < RUNNER_STATES; state++)
        runners += pool->runners_in[state];
    if (!pool->closing || runners > 0 || pool->task_count > 0 || pool->open_handles > 0 ||
        uv_is_closing((uv_handle_t *)&pool->deferred))
        return;
    close_timer(pool, &pool->deferred);
    close_timer(pool, &pool->rebalance);
    for (uint32_t i = 0; i < pool->module_count; i++)
        close_timer(pool, &pool->modules[i]->retry);
}

void pool_close(struct pool *pool, void (*on_closed)(void *context))
{
    struct runner *runner;

    pool_note_stop(pool);
    pool->closing = true;
    pool->killing = true;
    pool->on_closed = on_closed;
    for (uint32_t i = 0; i < pool->module_count; i++)
        while ((runner = TAILQ_FIRST(&pool->modules[i]->runners[RUNNER_IDLE].runners)) != NULL)
            runner_stop(runner, POOL_EXIT_STOPPED);
    for (uint32_t i = 0; i < pool->module_count; i++) {
        struct pool_module *module = pool->modules[i];

        (void)uv_timer_stop(&module->retry);
        module_return_queue(module);
        while ((runner = TAILQ_FIRST(&module->runners[RUNNER_STARTING].runners)) != NULL)
            runner_kill(runner, POOL_EXIT_KILLED);
        while ((runner = TAILQ_FIRST(&module->runners[RUNNER_BUSY].runners)) != NULL)
            runner_kill(runner, POOL_EXIT_KILLED);
    }
    pool_defer(pool);
}
