/*
 * Whether a module can be served: untried, ready, or suspended after it could not
 * start or died too often. A suspended module is tried again on a schedule; until
 * then its tasks come back uncounted.
 */
#include "pool/pool_internal.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t default_schedule_ms[] = {1000, 5000, 30000, 60000, 0};

/* The last step of the schedule repeats. */
static uint32_t retry_delay_ms(const struct pool_module *module)
{
    const uint32_t *schedule = module->pool->config.hold_schedule_ms;
    uint32_t place = 0;

    if (schedule == NULL)
        schedule = default_schedule_ms;
    while (place < module->suspensions && schedule[place + 1] != 0)
        place++;
    return schedule[place];
}

static void announce(struct pool_module *module)
{
    module->announce = true;
    pool_defer(module->pool);
}

void module_return_queue(struct pool_module *module)
{
    while (task_list_first(&module->queue) != NULL) {
        struct pool_task *task = task_list_first(&module->queue);

        task_list_remove(&module->queue, task);
        pool_return_task(module->pool, task);
    }
}

static void on_retry(uv_timer_t *timer);

static void suspend(struct pool_module *module, const char *reason)
{
    uint32_t delay = retry_delay_ms(module);

    free(module->suspend_reason);
    module->suspend_reason = strdup(reason);
    module->standing = MODULE_SUSPENDED;
    module->spawn_paused = false;
    module->suspensions++;
    module_return_queue(module);
    if (delay > 0) /* a schedule may be empty: suspended for good */
        (void)uv_timer_start(&module->retry, on_retry, delay, 0);
    pool_emit(module, "module_held", PGF_LOG_ERROR, NULL, 0,
              "%s is suspended, its tasks stay queued; it is tried again in %u s: %s", module->flow,
              (delay + 999) / 1000, reason);
    announce(module);
}

bool module_has_ready_runner(const struct pool_module *module)
{
    return module->runners[RUNNER_IDLE].count + module->runners[RUNNER_BUSY].count > 0;
}

void module_note_ready(struct pool_module *module)
{
    if (module->standing == MODULE_SUSPENDED)
        pool_emit(module, "module_ready", PGF_LOG_INFO, NULL, 0, "%s is served again",
                  module->flow);
    if (module->standing != MODULE_READY)
        announce(module);
    module->standing = MODULE_READY;
    module->spawn_paused = module->shortage_logged = false;
    (void)uv_timer_stop(&module->retry);
}

void module_note_failed_start(struct pool_module *module, const char *reason)
{
    /* Several runners may have been on their way when the first one failed;
     * only the one that the schedule tries makes it go on. */
    bool waits = module->standing == MODULE_SUSPENDED &&
                 (uv_is_active((uv_handle_t *)&module->retry) || retry_delay_ms(module) == 0);

    if (!module->pool->killing && !waits)
        suspend(module, reason);
}

/* The machine has no room for another process or descriptor: no fault of the module, and its
 * runners can go on. */
void module_note_failed_spawn(struct pool_module *module, const char *reason)
{
    module->exits[POOL_EXIT_START]++;
    if (module->standing != MODULE_READY || !module_has_ready_runner(module)) {
        module_note_failed_start(module, reason);
        return;
    }
    module->spawn_paused = true;
    (void)uv_timer_start(&module->retry, on_retry, LIMIT_SPAWN_PAUSE_MS, 0);
    if (module->shortage_logged)
        return;
    module->shortage_logged = true;
    pool_emit(module, "runner_not_started", PGF_LOG_WARN, NULL, 0,
              "%s goes on with %u runners, no further one can be started: %s", module->flow,
              module->runners[RUNNER_IDLE].count + module->runners[RUNNER_BUSY].count, reason);
}

void module_note_death(struct pool_module *module, const char *reason)
{
    module->deaths++;
    if (module->deaths < LIMIT_DEATHS_IN_A_ROW || module->standing == MODULE_SUSPENDED ||
        module->pool->killing)
        return;
    suspend(module, reason);
}

void module_note_finished(struct pool_module *module, uint64_t us)
{
    if (us >= LIMIT_SHORT_TASK_US)
        module->short_tasks = 0;
    else if (module->short_tasks < LIMIT_SHORT_TASKS_IN_A_ROW)
        module->short_tasks++;
    module->deaths = 0;
    module->suspensions = 0;
}

/* One runner is tried; one that is READY already is proof enough. */
static void on_retry(uv_timer_t *timer)
{
    struct pool_module *module = timer->data;
    struct error error;

    module->spawn_paused = false;
    if (module->standing == MODULE_READY)
        pool_dispatch(module->pool);
    else if (module_has_ready_runner(module))
        module_note_ready(module);
    else if (module->runners[RUNNER_STARTING].count == 0 && runner_spawn(module, &error) == NULL)
        module_note_failed_spawn(module, error.text);
}
