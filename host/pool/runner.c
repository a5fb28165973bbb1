/*
 * One runner through its life: the states, the clock that each state has, and
 * its end. What it says is runner_answer.c's, what it is told runner_send.c's.
 *
 * One timer serves all: `due_ms` is when it matters. It is left running when the
 * due time moves back or goes away, and looks again when it rings, because that
 * happens with every task.
 */
#include "base/clock.h"
#include "base/oom_kills.h"
#include "pool/pool_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define MOVE(to) (1u << (to))

/* The legal moves. BUSY to BUSY puts it last on the list. */
static const unsigned legal_moves[RUNNER_STATES] = {
    [RUNNER_STARTING] = MOVE(RUNNER_IDLE) | MOVE(RUNNER_KILLED) | MOVE(RUNNER_EXITED),
    [RUNNER_IDLE] =
        MOVE(RUNNER_BUSY) | MOVE(RUNNER_STOPPING) | MOVE(RUNNER_KILLED) | MOVE(RUNNER_EXITED),
    [RUNNER_BUSY] =
        MOVE(RUNNER_BUSY) | MOVE(RUNNER_IDLE) | MOVE(RUNNER_KILLED) | MOVE(RUNNER_EXITED),
    [RUNNER_STOPPING] = MOVE(RUNNER_KILLED) | MOVE(RUNNER_EXITED),
    [RUNNER_KILLED] = MOVE(RUNNER_EXITED),
    [RUNNER_EXITED] = MOVE(RUNNER_CLOSING),
    [RUNNER_CLOSING] = 0,
};

static void unlink_runner(struct runner_list *list, struct runner *runner)
{
    TAILQ_REMOVE(&list->runners, runner, link);
    list->count--;
}

/* Idle ones are a stack: the last used is the warmest. The others queue. */
static void link_runner(struct runner_list *list, struct runner *runner, bool first)
{
    if (first)
        TAILQ_INSERT_HEAD(&list->runners, runner, link);
    else
        TAILQ_INSERT_TAIL(&list->runners, runner, link);
    list->count++;
}

void runner_set_state(struct runner *runner, enum runner_state state)
{
    struct pool_module *module = runner->module;

    if ((legal_moves[runner->state] & MOVE(state)) == 0)
        abort();
    unlink_runner(&module->runners[runner->state], runner);
    runner->pool->runners_in[runner->state]--;
    runner->state = state;
    link_runner(&module->runners[state], runner, state == RUNNER_IDLE);
    runner->pool->runners_in[state]++;
}

void runner_link(struct runner *runner)
{
    runner->state = RUNNER_STARTING;
    link_runner(&runner->module->runners[RUNNER_STARTING], runner, false);
    runner->pool->runners_in[RUNNER_STARTING]++;
}

void runner_forget(struct runner *runner)
{
    unlink_runner(&runner->module->runners[runner->state], runner);
    runner->pool->runners_in[runner->state]--;
}

bool runner_is_alive(const struct runner *runner)
{
    return runner->state < RUNNER_EXITED;
}

static void on_timer(uv_timer_t *timer);

void runner_set_due(struct runner *runner, uint64_t due_ms)
{
    uint64_t now = uv_now(runner->pool->config.loop);

    runner->due_ms = due_ms;
    if (due_ms == 0 || (runner->armed_ms != 0 && runner->armed_ms <= due_ms))
        return;
    runner->armed_ms = due_ms;
    (void)uv_timer_start(&runner->timer, on_timer, due_ms > now ? due_ms - now : 0, 0);
}

static uint64_t due_in(const struct runner *runner, uint64_t ms)
{
    return uv_now(runner->pool->config.loop) + ms;
}

/* The group: a child that the handler forked dies with it. */
void runner_kill(struct runner *runner, enum pool_exit_cause cause)
{
    if (runner->state >= RUNNER_KILLED)
        return;
    runner->cause = cause;
    runner_set_state(runner, RUNNER_KILLED);
    runner_set_due(runner, 0);
    (void)kill(-runner->pid, SIGKILL);
}

void runner_stop(struct runner *runner, enum pool_exit_cause cause)
{
    struct frame_header stop = frame_header_make(FRAME_STOP, 0, 0);

    runner->cause = cause;
    runner_set_state(runner, RUNNER_STOPPING);
    runner_set_due(runner, due_in(runner, runner->pool->config.grace_ms));
    /* An idle runner's socket is empty, so this fits; if the runner is gone, its
     * exit is on the way. */
    if (send(runner->socket, &stop, sizeof stop, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        runner_kill(runner, cause);
}

void runner_lose(struct runner *runner)
{
    if (runner->state >= RUNNER_STOPPING)
        return;
    if (runner->state == RUNNER_IDLE) {
        runner->cause = POOL_EXIT_PROTOCOL;
        runner_set_state(runner, RUNNER_STOPPING);
    }
    runner_set_due(runner, due_in(runner, LIMIT_EXIT_AFTER_SOCKET_MS));
}

void runner_expect_start(struct runner *runner)
{
    if (runner->state == RUNNER_BUSY)
        runner_set_due(runner, runner->ring_count == 0
                                   ? 0
                                   : due_in(runner, runner->pool->config.ready_timeout_ms));
}

void runner_ask_to_stop(struct runner *runner)
{
    atomic_store(&runner->page->cancelled, runner_head(runner)->number);
    runner_set_due(runner, due_in(runner, runner->pool->config.grace_ms));
}

/* Three quarters of its memory: what it leaked would soon cost a task. */
static bool is_due_for_recycling(const struct runner *runner)
{
    const struct pool_config *config = &runner->pool->config;

    if (config->runner_max_tasks > 0 && runner->tasks_done >= config->runner_max_tasks)
        return true;
    return config->handler_memory > 0 && runner->address_space > config->handler_memory / 4 * 3;
}

void runner_go_idle(struct runner *runner)
{
    const struct pool_config *config = &runner->pool->config;

    runner_set_state(runner, RUNNER_IDLE);
    if (runner->residue != 0) {
        runner_stop(runner, POOL_EXIT_RECYCLED);
    } else if (is_due_for_recycling(runner)) {
        pool_emit(runner->module, "runner_recycled", PGF_LOG_DEBUG, NULL, runner->pid,
                  "recycled after %llu tasks, %llu MiB", (unsigned long long)runner->tasks_done,
                  (unsigned long long)runner->address_space / LIMIT_MIB);
        runner_stop(runner, POOL_EXIT_RECYCLED);
    } else {
        runner_set_due(runner, config->runner_idle_s == 0
                                   ? 0
                                   : due_in(runner, (uint64_t)config->runner_idle_s * 1000));
    }
}

/* One idle runner a module stays. */
static void end_idle(struct runner *runner)
{
    struct pool_module *module = runner->module;

    if (module->runners[RUNNER_IDLE].count + module->runners[RUNNER_BUSY].count > 1)
        runner_stop(runner, POOL_EXIT_IDLE);
}

/* It hangs outside of any handler, frozen perhaps, and would keep its slot for ever. */
static void end_stuck(struct runner *runner)
{
    (void)error_set(&runner->failure, ERROR_INTERNAL, "did not take up a task for %u s",
                    (runner->pool->config.ready_timeout_ms + 999) / 1000);
    runner_kill(runner, POOL_EXIT_STUCK);
}

/* First the page, so that a handler that asks can end by itself. */
static void on_task_due(struct runner *runner)
{
    const struct runner_slot *head = runner_head(runner);
    struct pool_task *task = head->started ? head->task : NULL;

    if (task == NULL) {
        end_stuck(runner);
    } else if (task->timed_out || task->cancel_why != 0) {
        runner_kill(runner, task->timed_out ? POOL_EXIT_TIMEOUT : POOL_EXIT_KILLED);
    } else {
        task->timed_out = true;
        runner_ask_to_stop(runner);
    }
}

/* EXITED and both pipes at their end: settle, close. */
static void try_finish(struct runner *runner)
{
    if (runner->state != RUNNER_EXITED || runner->awaits_stop || !runner->out[POOL_STDOUT].ended ||
        !runner->out[POOL_STDERR].ended)
        return;
    runner_output_flush(&runner->out[POOL_STDOUT]);
    runner_output_flush(&runner->out[POOL_STDERR]);
    runner_set_state(runner, RUNNER_CLOSING);
    runner->module->exits[runner->cause]++;
    runner_settle(runner);
    runner_close_handles(runner);
    pool_dispatch(runner->pool);
}

static void on_due(struct runner *runner)
{
    if (runner->socket_ended && runner->state < RUNNER_STOPPING) {
        (void)error_set(&runner->failure, ERROR_INTERNAL, "closed its socket");
        runner_kill(runner, runner->ready_came ? POOL_EXIT_PROTOCOL : POOL_EXIT_START);
        return;
    }
    switch (runner->state) {
    case RUNNER_STARTING:
        (void)error_set(&runner->failure, ERROR_CONFIG, "not ready after %u s",
                        (runner->pool->config.ready_timeout_ms + 999) / 1000);
        runner_kill(runner, POOL_EXIT_START);
        break;
    case RUNNER_IDLE:
        end_idle(runner);
        break;
    case RUNNER_BUSY:
        on_task_due(runner);
        break;
    case RUNNER_STOPPING:
        runner_kill(runner, runner->cause);
        break;
    case RUNNER_EXITED:
        runner->awaits_stop = false;
        runner->out[POOL_STDOUT].ended = runner->out[POOL_STDERR].ended = true;
        try_finish(runner);
        break;
    default:
        break;
    }
}

/* Dead, though libuv has not reported it yet. */
static bool has_exited(const struct runner *runner)
{
    siginfo_t child = {.si_pid = 0};

    return waitid(P_PID, (id_t)runner->pid, &child, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           child.si_pid == runner->pid;
}

static void on_timer(uv_timer_t *timer)
{
    struct runner *runner = timer->data;
    uint64_t due = runner->due_ms;

    runner->armed_ms = 0;
    if (due == 0)
        return;
    if (uv_now(timer->loop) < due) {
        runner_set_due(runner, due);
        return;
    }
    /* Timers ring before sockets are looked at: after a SIGSTOP or a long callback what this one
     * waits for may have come in time. */
    if (runner_is_alive(runner))
        runner_read_answers(runner);
    if (runner->due_ms != due) {
        pool_dispatch(runner->pool);
        return;
    }
    /* Nor is a dead one to be judged: how it ended is about to be reported. */
    if (runner_is_alive(runner) && has_exited(runner)) {
        runner_set_due(runner, due_in(runner, LIMIT_OUTPUT_AFTER_DEATH_MS));
        return;
    }
    runner->due_ms = 0;
    on_due(runner);
}

/* One that we gave no reason to end: see runner_lose. */
static bool ended_by_itself(const struct runner *runner, enum runner_state before)
{
    return before < RUNNER_STOPPING ||
           (before == RUNNER_STOPPING && runner->cause == POOL_EXIT_PROTOCOL);
}

static void set_cause(struct runner *runner, enum runner_state before)
{
    if (!ended_by_itself(runner, before))
        return;
    if (!runner->ready_came)
        runner->cause = POOL_EXIT_START;
    else
        runner->cause = runner->exit_signal != 0 ? POOL_EXIT_SIGNAL : POOL_EXIT_STATUS;
}

bool runner_was_stopped(const struct runner *runner)
{
    static const int stopping[] = {SIGTERM, SIGINT, SIGHUP};

    for (size_t i = 0; i < sizeof stopping / sizeof stopping[0]; i++)
        if (runner->exit_signal == stopping[i] ||
            (runner->exit_signal == 0 && runner->exit_status == 128 + stopping[i]))
            return true;
    return false;
}

/* Whether a SIGKILL that we did not send may be the kernel's: it says only that it killed somebody.
 */
static bool was_out_of_memory(struct pool *pool)
{
    int64_t now = oom_kills();

    if (now > pool->oom_kills) {
        pool->oom_kills = now;
        pool->oom_kill_ns = uv_hrtime();
    }
    return pool->oom_kill_ns != 0 &&
           uv_hrtime() - pool->oom_kill_ns < LIMIT_OOM_BURST_MS * NS_PER_MS;
}

/* libuv took the exit status, so the pid is free again as soon as its group is
 * empty; as long as anyone is in the group the kernel does not hand it out. */
void runner_on_exit(uv_process_t *process, int64_t exit_status, int term_signal)
{
    struct runner *runner = process->data;
    enum runner_state before = runner->state;

    (void)kill(-runner->pid, SIGKILL);
    runner->exit_status = exit_status;
    runner->exit_signal = term_signal;
    runner->out_of_memory =
        term_signal == SIGKILL && runner->state != RUNNER_KILLED && was_out_of_memory(runner->pool);
    runner_set_state(runner, RUNNER_EXITED);
    reaper_sweep(runner->pool->reaper);
    /* A complete answer counts though its sender is dead. */
    runner_read_answers(runner);
    set_cause(runner, before);
    (void)uv_poll_stop(&runner->socket_poll);
    runner->awaits_stop =
        !runner->pool->stopping && ended_by_itself(runner, before) && runner_was_stopped(runner);
    runner_set_due(runner, due_in(runner, runner->awaits_stop ? LIMIT_STOP_AFTER_DEATH_MS
                                                              : LIMIT_OUTPUT_AFTER_DEATH_MS));
    for (int i = 0; i < 2; i++)
        runner_output_read_last(&runner->out[i]);
    try_finish(runner);
}

void runner_on_socket(uv_poll_t *poll, int status, int events)
{
    struct runner *runner = poll->data;

    if (status == 0 && (events & UV_WRITABLE) != 0)
        runner_send_rest(runner);
    if (status != 0 || (events & UV_READABLE) != 0)
        runner_read_answers(runner);
    pool_dispatch(runner->pool);
}

void runner_on_output(uv_poll_t *poll, int status, int events)
{
    struct runner_output *output = poll->data;
    struct runner *runner = output->runner;

    (void)status;
    (void)events;
    runner_output_read(output);
    try_finish(runner);
    pool_dispatch(runner->pool);
}
