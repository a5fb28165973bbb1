/*
 * Which task goes to which runner. Decided anew after each change: a task came,
 * a runner got ready or idle, one died, a module was suspended or resumed.
 *
 * The oldest task that can be placed goes first, whichever module it belongs to;
 * so a busy module cannot starve another one.
 */
#include "base/clock.h"
#include "pool/pool_internal.h"

enum placement { PLACE_NOWHERE, PLACE_IDLE, PLACE_SPAWN };

/* Runners that use a slot. A killed one uses none: its task is over. */
static uint32_t active_runners(const struct pool *pool)
{
    return pool->runners_in[RUNNER_STARTING] + pool->runners_in[RUNNER_BUSY];
}

static bool has_free_slot(const struct pool *pool)
{
    return active_runners(pool) < pool->config.concurrency;
}

/* A few at a time: starting a hundred keeps the loop from everything else, and for short handlers
 * the first few are enough. */
static bool may_start_runner(const struct pool_module *module)
{
    uint32_t starting = module->runners[RUNNER_STARTING].count;

    return starting < module->queue.count && starting < LIMIT_STARTING_AT_ONCE &&
           !module->spawn_paused;
}

static enum placement find_placement(const struct pool_module *module)
{
    if (module->queue.count == 0)
        return PLACE_NOWHERE;
    if (module->runners[RUNNER_IDLE].count > 0)
        return PLACE_IDLE;
    return may_start_runner(module) ? PLACE_SPAWN : PLACE_NOWHERE;
}

static bool is_older(const struct pool_module *a, const struct pool_module *b)
{
    return task_list_first(&a->queue)->sequence < task_list_first(&b->queue)->sequence;
}

/* The module whose oldest task is the oldest that can be placed. */
static struct pool_module *pick_module(struct pool *pool, enum placement *placement)
{
    struct pool_module *best = NULL;

    for (uint32_t i = 0; i < pool->module_count; i++) {
        struct pool_module *module = pool->modules[i];
        enum placement here = find_placement(module);

        if (here == PLACE_NOWHERE || (best != NULL && !is_older(module, best)))
            continue;
        best = module;
        *placement = here;
    }
    return best;
}

static struct pool_task *take_first(struct pool_module *module)
{
    struct pool_task *task = task_list_first(&module->queue);

    task_list_remove(&module->queue, task);
    return task;
}

static void start_runner(struct pool_module *module)
{
    struct error error;

    if (runner_spawn(module, &error) == NULL)
        module_note_failed_spawn(module, error.text);
}

/* The one of the first few busy runners with the fewest tasks; those looked at
 * go to the end of the list, so that all get their turn. */
static struct runner *pick_busy(struct pool_module *module, const struct pool_task *task)
{
    enum { LOOK_AT = 8 };
    struct runner *best = NULL;
    uint32_t count = module->runners[RUNNER_BUSY].count;

    for (uint32_t i = 0; i < count && i < LOOK_AT; i++) {
        struct runner *runner = TAILQ_FIRST(&module->runners[RUNNER_BUSY].runners);

        runner_set_state(runner, RUNNER_BUSY);
        if (runner_can_prefetch(runner, task) &&
            (best == NULL || runner->ring_count < best->ring_count))
            best = runner;
    }
    return best;
}

/* All slots are taken: let tasks wait in the sockets of busy runners, so that
 * these go on without waiting for us. */
static void prefetch(struct pool *pool)
{
    for (uint32_t i = 0; i < pool->module_count; i++) {
        struct pool_module *module = pool->modules[i];

        while (module->queue.count > 0) {
            struct runner *runner = pick_busy(module, task_list_first(&module->queue));

            if (runner == NULL)
                break;
            runner_send_task(runner, take_first(module));
        }
    }
}

/*
 * Waking a process costs more than a handler of a few microseconds: while all handlers of a module
 * are that short, a runner gets several tasks at a time and a backlog is worked off by a few of
 * them. Few tasks are spread as ever, and one that waits behind a handler which takes its time
 * after all moves on: rebalance().
 */
uint32_t module_batch_size(const struct pool_module *module, uint32_t queued)
{
    uint32_t share = queued / 4;

    if (module->short_tasks < LIMIT_SHORT_TASKS_IN_A_ROW || share < 2)
        return 1;
    return share < CANCEL_PAGE_SLOTS ? share : CANCEL_PAGE_SLOTS;
}

static void serve_idle(struct pool_module *module)
{
    struct runner *runner = TAILQ_FIRST(&module->runners[RUNNER_IDLE].runners);
    uint32_t tasks = module_batch_size(module, module->queue.count);

    runner_send_task(runner, take_first(module));
    while (--tasks > 0 && runner_can_prefetch(runner, task_list_first(&module->queue)))
        runner_send_task(runner, take_first(module));
}

void pool_enqueue(struct pool *pool, struct pool_task *task, bool first)
{
    struct pool_module *module = task->module;

    if (module->standing == MODULE_SUSPENDED || pool->killing) {
        pool_return_task(pool, task);
        return;
    }
    task->state = TASK_QUEUED;
    task->runner = NULL;
    if (first)
        task_list_prepend(&module->queue, task);
    else
        task_list_append(&module->queue, task);
}

/* Takes the oldest waiting task of `runner` back to the queue if the handler in
 * front of it has run for a while. Tells whether one waits there now. */
static bool free_waiting(struct runner *runner, uint64_t now_ns, bool *freed)
{
    struct pool_task *head = runner_head(runner)->task;
    struct pool_task *task = NULL;

    for (uint32_t place = 1; place < runner->ring_count && task == NULL; place++)
        task = runner_slot_at(runner, place)->task;
    if (task == NULL)
        return false;
    if (head != NULL &&
        (head->started_ns == 0 || now_ns - head->started_ns < LIMIT_REBALANCE_AFTER_MS * NS_PER_MS))
        return true;
    if (!runner_recall(runner, task))
        return true;
    pool_enqueue(runner->pool, task, true);
    *freed = true;
    return true;
}

static void on_rebalance(uv_timer_t *timer)
{
    pool_dispatch(timer->data);
}

/* A slot is free while tasks wait behind handlers that take their time: moves
 * one of them at a time, or looks again when it is due. */
static void rebalance(struct pool *pool)
{
    uint64_t now_ns = uv_hrtime();
    bool waiting = false;
    bool freed = false;

    for (uint32_t i = 0; i < pool->module_count && !freed; i++) {
        struct pool_module *module = pool->modules[i];
        struct runner *runner = TAILQ_FIRST(&module->runners[RUNNER_BUSY].runners);

        for (; runner != NULL && !freed; runner = TAILQ_NEXT(runner, link))
            waiting |= free_waiting(runner, now_ns, &freed);
    }
    if (freed)
        pool_defer(pool);
    else if (waiting && !uv_is_active((uv_handle_t *)&pool->rebalance))
        (void)uv_timer_start(&pool->rebalance, on_rebalance, LIMIT_REBALANCE_AFTER_MS, 0);
}

void pool_dispatch(struct pool *pool)
{
    enum placement placement = PLACE_NOWHERE;
    struct pool_module *module;

    if (pool->killing)
        return;
    while (has_free_slot(pool) && (module = pick_module(pool, &placement)) != NULL) {
        if (placement == PLACE_IDLE)
            serve_idle(module);
        else
            start_runner(module);
    }
    if (!has_free_slot(pool))
        prefetch(pool);
    else if (pool->prefetched > 0)
        rebalance(pool);
}
