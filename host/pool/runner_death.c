/*
 * Who is to blame. Only the oldest unanswered task can be: the runner works in
 * order. It is blamed if its handler had begun; STARTED is sent before the
 * handler runs and everything sent was read, so without it the handler never
 * ran. All others move to another runner, unblamed and uncounted.
 */
#include "pool/pool_internal.h"
#include "pool/result.h"

#include <string.h>

static struct result_death describe_death(const struct runner *runner, const struct pool_task *task)
{
    return (struct result_death){.cause = runner->cause,
                                 .exit_status = runner->exit_status,
                                 .exit_signal = runner->exit_signal,
                                 .address_space = runner->crash.address_space,
                                 .handler_memory = runner->pool->config.handler_memory,
                                 .out_of_memory = runner->out_of_memory,
                                 .timeout_s = task == NULL ? 0 : task->timeout_s,
                                 .protocol = runner->failure.text};
}

/* Told to stop as its host was: no fault of the handler, and none of the module. */
static bool ended_with_host(const struct runner *runner)
{
    return runner->pool->stopping && runner->cause >= POOL_EXIT_SIGNAL &&
           runner_was_stopped(runner);
}

static void blame(struct runner *runner, struct pool_task *task)
{
    struct result_death death = describe_death(runner, task);
    struct result_text text;
    struct pool_result result = {.started = true,
                                 .died = true,
                                 .pid = runner->pid,
                                 .us = (uv_hrtime() - task->started_ns) / 1000u};

    result.ms = result.us / 1000u;
    if (runner->cause == POOL_EXIT_KILLED || ended_with_host(runner)) {
        result.outcome = POOL_CANCELLED;
        result.retry_after_s = -1;
        result.why = task->cancel_why == 0 ? POOL_SHUTDOWN : (enum pool_cancel_why)task->cancel_why;
    } else {
        result_of_death(&death, runner->stderr_tail, runner->stderr_tail_size, &result, &text);
    }
    pool_finish_task(runner->pool, task, &result);
}

/* Back to the front of the queue, in their order. */
static void move_waiting(struct runner *runner)
{
    for (uint32_t place = runner->ring_count; place-- > 0;) {
        struct pool_task *task = runner_slot_at(runner, place)->task;

        if (task == NULL)
            continue;
        if (place > 0)
            runner->pool->prefetched--;
        if (task->cancel_why != 0 || task->state == TASK_RECALLING) {
            pool_return_task(runner->pool, task);
            continue;
        }
        pool_enqueue(runner->pool, task, true);
    }
    runner->ring_count = 0;
}

static void describe_end(const struct runner *runner, const struct pool_task *task, char *out,
                         size_t size)
{
    struct result_death death = describe_death(runner, task);

    if (runner->failure.text[0] != '\0') {
        size_t length = strnlen(runner->failure.text, size - 1);

        memcpy(out, runner->failure.text, length);
        out[length] = '\0';
    } else {
        result_death_reason(&death, out, size);
    }
}

static bool is_own_doing(const struct runner *runner)
{
    enum pool_exit_cause cause = runner->cause;

    return cause == POOL_EXIT_IDLE || cause == POOL_EXIT_RECYCLED || cause == POOL_EXIT_STOPPED ||
           cause == POOL_EXIT_KILLED || ended_with_host(runner);
}

void runner_settle(struct runner *runner)
{
    struct runner_slot *head = runner_head(runner);
    struct pool_task *task = NULL;
    bool had_task = head != NULL;
    bool own_doing = is_own_doing(runner);
    char reason[LIMIT_ERROR_TEXT];

    if (head != NULL && head->started)
        task = head->task;
    /* It was recalled, but no NOT_RUN came: its handler ran. */
    if (task != NULL && task->state == TASK_RECALLING)
        runner_tell_started(task);
    describe_end(runner, task, reason, sizeof reason);
    pool_emit(runner->module, runner->cause == POOL_EXIT_START ? "runner_failed" : "runner_exit",
              own_doing ? PGF_LOG_DEBUG : PGF_LOG_WARN, task, runner->pid, "runner ended (%s): %s",
              pool_exit_cause_name(runner->cause), reason);
    if (task != NULL)
        runner_drop_head(runner);
    move_waiting(runner);
    if (!own_doing && runner->cause == POOL_EXIT_START)
        module_note_failed_start(runner->module, reason);
    else if (!own_doing && had_task)
        module_note_death(runner->module, reason);
    if (task != NULL)
        blame(runner, task);
}
