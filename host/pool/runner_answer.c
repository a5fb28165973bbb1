/*
 * What a runner says: frames checked against what it was asked, and turned into
 * calls of the worker. Nothing of a runner is believed; one that breaks the
 * protocol is killed, and the task in flight is to blame.
 */
#include "pool/pool_internal.h"
#include "pool/result.h"

#include <errno.h>
#include <string.h>

static bool broken(struct runner *runner, const char *what, uint64_t number)
{
    return error_set(&runner->failure, ERROR_INTERNAL, "%s for task %llu", what,
                     (unsigned long long)number);
}

static bool on_ready(struct runner *runner, const struct frame *frame)
{
    if (runner->ready_came)
        return broken(runner, "a second READY", 0);
    /* Killed or dead meanwhile: it never served, so it counts as not ready. */
    if (runner->state != RUNNER_STARTING)
        return true;
    runner->ready_came = true;
    runner->address_space = frame_get_ready(frame).address_space;
    runner_go_idle(runner);
    module_note_ready(runner->module);
    pool_emit(runner->module, "runner_ready", PGF_LOG_DEBUG, NULL, runner->pid, "runner is ready");
    return true;
}

static bool on_failed(struct runner *runner, const struct frame *frame)
{
    size_t size;
    const char *text = frame_get_text(frame, NULL, &size);

    if (runner->ready_came)
        return broken(runner, "FAILED after READY", 0);
    return error_set(&runner->failure, ERROR_CONFIG, "%.*s", (int)size, text) || true;
}

void runner_tell_started(struct pool_task *task)
{
    struct pool *pool = task->runner->pool;

    task->state = TASK_RUNNING;
    pool->config.callbacks.on_started(pool->config.context, task);
}

static bool on_started(struct runner *runner, const struct frame *frame)
{
    struct runner_slot *head = runner_head(runner);
    struct pool_task *task;
    uint64_t timeout_ms;

    if (head == NULL || head->number != frame->number || head->started)
        return broken(runner, "STARTED", frame->number);
    head->started = true;
    task = head->task;
    if (task == NULL)
        return true;
    runner_output_begin_task(runner);
    task->started_ns = uv_hrtime();
    timeout_ms = (uint64_t)task->timeout_s * 1000;
    if (runner->state == RUNNER_BUSY && task->cancel_why != 0)
        runner_ask_to_stop(runner);
    else if (runner->state == RUNNER_BUSY)
        runner_set_due(runner,
                       timeout_ms == 0 ? 0 : uv_now(runner->pool->config.loop) + timeout_ms);
    /* One that was recalled may yet turn out not to run. */
    if (task->state == TASK_SENT)
        runner_tell_started(task);
    return true;
}

/* Everything that the task printed comes before its end. */
static void read_output_of(struct runner *runner, uint32_t flags, uint64_t number)
{
    static const uint32_t flag_of[] = {FRAME_RESULT_STDOUT, FRAME_RESULT_STDERR};

    for (int i = 0; i < 2; i++)
        if ((flags & flag_of[i]) != 0)
            runner_output_read_to_marker(&runner->out[i], number);
}

static void finish_answered(struct runner *runner, struct pool_task *task,
                            const struct frame_result *result, const char *output,
                            const char *error_text)
{
    struct result_text text;
    struct pool_result handed = {.started = true,
                                 .pid = runner->pid,
                                 .ms = result->elapsed_us / 1000,
                                 .us = result->elapsed_us};
    struct result_question question = {.status = result->status,
                                       .flags = result->flags,
                                       .output = output,
                                       .output_size = result->output_size,
                                       .error = error_text,
                                       .error_size = result->error_size,
                                       .retry_after_s = result->retry_after_s,
                                       .timed_out = task->timed_out,
                                       .timeout_s = task->timeout_s,
                                       .cancel_why = task->cancel_why,
                                       .max_payload = runner->pool->config.max_payload};

    result_of_answer(&question, &handed, &text);
    pool_finish_task(runner->pool, task, &handed);
}

/* Logged at warn once for each kind: a module that does it does it with every task. */
static void note_residue(struct runner *runner, const struct pool_task *task, uint32_t residue)
{
    struct pool_module *module = runner->module;
    bool is_news = (residue & ~module->residue_logged) != 0;
    char words[512];

    if (residue == 0)
        return;
    runner->residue |= residue;
    module->residue_logged |= residue;
    residue_describe(residue, words, sizeof words);
    pool_emit(module, "runner_recycled", is_news ? PGF_LOG_WARN : PGF_LOG_DEBUG, task, runner->pid,
              "recycled: the task left %s", words);
}

static bool on_result(struct runner *runner, const struct frame *frame)
{
    struct runner_slot *head = runner_head(runner);
    const char *output, *error_text;
    struct frame_result result;
    struct pool_task *task;

    if (head == NULL || head->number != frame->number || !head->started || head->task == NULL)
        return broken(runner, "RESULT", frame->number);
    result = frame_get_result(frame, &output, &error_text);
    if (result.output_size > runner->pool->config.max_payload)
        return broken(runner, "an output over the limit", frame->number);
    task = head->task;
    if (task->state == TASK_RECALLING)
        runner_tell_started(task);
    read_output_of(runner, result.flags, frame->number);
    runner->tasks_done++;
    if (result.address_space > 0)
        runner->address_space = result.address_space;
    note_residue(runner, task, result.flags >> FRAME_RESULT_RESIDUE_SHIFT & RESIDUE_ALL);
    runner_drop_head(runner);
    if (runner->residue != 0)
        runner_abandon_waiting(runner);
    runner_expect_start(runner);
    module_note_finished(runner->module, result.elapsed_us);
    finish_answered(runner, task, &result, output, error_text);
    return true;
}

static bool on_not_run(struct runner *runner, const struct frame *frame)
{
    struct runner_slot *head = runner_head(runner);
    struct pool_task *task;

    if (head == NULL || head->number != frame->number ||
        (head->task != NULL && head->task->state != TASK_RECALLING))
        return broken(runner, "NOT_RUN", frame->number);
    task = head->task;
    runner_drop_head(runner);
    runner_expect_start(runner);
    if (task != NULL)
        pool_return_task(runner->pool, task);
    return true;
}

static bool on_log(struct runner *runner, const struct frame *frame)
{
    size_t size;
    int32_t level;
    const char *text = frame_get_text(frame, &level, &size);

    if (level < PGF_LOG_DEBUG || level > PGF_LOG_ERROR)
        level = PGF_LOG_ERROR;
    runner_output_log(runner, frame->number, level, text, size);
    return true;
}

/* False: the protocol was broken, runner->failure says how. */
static bool on_frame(struct runner *runner, const struct frame *frame)
{
    switch (frame->type) {
    case FRAME_READY:
        return on_ready(runner, frame);
    case FRAME_FAILED:
        return on_failed(runner, frame);
    case FRAME_STARTED:
        return on_started(runner, frame);
    case FRAME_RESULT:
        return on_result(runner, frame);
    case FRAME_NOT_RUN:
        return on_not_run(runner, frame);
    case FRAME_LOG:
        return on_log(runner, frame);
    case FRAME_CRASH:
        runner->crash = frame_get_crash(frame);
        return true;
    default:
        return broken(runner, "a frame of the host's", frame->number);
    }
}

/* Handles the complete frames. False: no more can be taken from this runner. */
static bool take_frames(struct runner *runner)
{
    struct frame frame;

    for (;;) {
        switch (frame_reader_next(&runner->reader, &frame, &runner->failure)) {
        case FRAME_NEXT_NONE:
            return true;
        case FRAME_NEXT_OK:
            if (on_frame(runner, &frame))
                break;
            /* fallthrough */
        case FRAME_NEXT_BROKEN:
            return false;
        }
    }
}

static void end_socket(struct runner *runner)
{
    runner->socket_ended = true;
    (void)uv_poll_stop(&runner->socket_poll);
}

/* A broken stream has no more frames, wherever it broke. */
static void on_protocol_broken(struct runner *runner)
{
    end_socket(runner);
    if (runner->state < RUNNER_STOPPING)
        runner_kill(runner, runner->ready_came ? POOL_EXIT_PROTOCOL : POOL_EXIT_START);
}

static void take_answers(struct runner *runner)
{
    while (!runner->socket_ended) {
        long got = frame_reader_fill(&runner->reader, runner->socket);

        if (got == -EAGAIN)
            break;
        if (got <= 0) {
            end_socket(runner);
            runner_lose(runner);
        } else if (!take_frames(runner)) {
            on_protocol_broken(runner);
        }
        if (got > 0 && runner->reader.end < runner->reader.capacity)
            break;
    }
}

/*
 * STARTED is sent before the task prints, and all answers before it are sent
 * before that: once no answer is unread that is older than the output in hand,
 * the output behind the last marker is that of the oldest unanswered task.
 */
void runner_read_answers(struct runner *runner)
{
    do {
        runner->output_unheard = false;
        take_answers(runner);
    } while (runner->output_unheard);
    for (int i = 0; i < 2; i++)
        runner_output_hand_out(&runner->out[i]);
    if (runner->state == RUNNER_BUSY && runner->ring_count == 0)
        runner_go_idle(runner);
}
