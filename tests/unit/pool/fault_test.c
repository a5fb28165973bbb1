/*
 * A fault costs one attempt of one task: each way for a handler to go wrong, and
 * then a task on the same module that ends well.
 */
#include "harness.h"

#include "pool/pool_internal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct harness h;
static struct pool_module *faults;
static struct record task;

/* Children of ours that no runner made. */
static pid_t helper;
static pid_t expect_gone_at_finish;

static pid_t start_helper(void)
{
    pid_t child = fork();

    cr_assert(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    return child;
}

static void open_faults(void)
{
    harness_init(&h);
    helper = start_helper();
    harness_start(&h);
    faults = harness_add(&h, "faults");
}

/* When the pool is closed, and before the harness waits for what is left. */
static void end_helper(void)
{
    if (expect_gone_at_finish != 0 && kill(expect_gone_at_finish, 0) == 0)
        abort();
    (void)kill(helper, SIGKILL);
}

static void close_faults(void)
{
    record_free(&task);
    if (helper > 0)
        h.after_close = end_helper;
    harness_finish(&h);
}

TestSuite(fault, .init = open_faults, .fini = close_faults, .timeout = 100);

/* A small limit, because touching memory is what takes the time. */
static void open_faults_in_128_mib(void)
{
    harness_init(&h);
    h.config.handler_memory = (size_t)128 * LIMIT_MIB;
    harness_start(&h);
    faults = harness_add(&h, "faults");
}

TestSuite(memory_fault, .init = open_faults_in_128_mib, .fini = close_faults, .timeout = 60);

/* The next task is served, by another runner if the first one died. */
static void expect_next_task_is_fine(pid_t dead)
{
    struct record next = {0};

    harness_run(&h, &next, faults, "echo", "{\"after\": 1}");

    cr_assert_eq(next.outcome, POOL_COMPLETED);
    cr_assert_str_eq(next.output, "{\"after\": 1}");
    if (dead != 0)
        cr_assert_neq(next.pid, dead);
    record_free(&next);
}

static void expect_death(const char *step, const char *params, const char *error)
{
    harness_run(&h, &task, faults, step, params);

    cr_assert_eq(task.outcome, POOL_FAILED);
    cr_assert(task.was_started && task.died);
    cr_assert_eq(task.started, 1);
    cr_assert_eq(task.done, 1);
    cr_assert_str_eq(task.error, error);
    expect_next_task_is_fine(task.pid);
}

Test(fault, echo_completes)
{
    harness_run(&h, &task, faults, "echo", "{\"a\": [1, 2]}");

    cr_assert_eq(task.outcome, POOL_COMPLETED);
    cr_assert_str_eq(task.output, "{\"a\": [1, 2]}");
    cr_assert_eq(task.started, 1);
    cr_assert(task.was_started && !task.died);
}

Test(fault, segmentation_fault_costs_one_attempt)
{
    expect_death("segv", "{}", "handler died: SIGSEGV");
}

Test(fault, stack_overflow_costs_one_attempt)
{
    expect_death("stack_overflow", "{}", "handler died: SIGSEGV");
}

Test(fault, abort_costs_one_attempt)
{
    expect_death("abort", "{}", "handler died: SIGABRT");
}

Test(fault, exit_is_told_with_its_status)
{
    expect_death("exit", "{\"status\": 3}", "exited with status 3");
}

Test(fault, exit_with_success_is_a_death_too)
{
    expect_death("exit", "{\"status\": 0}", "exited with status 0");
}

Test(fault, kill_by_signal_is_named)
{
    expect_death("kill", "{\"signal\": 9}", "handler died: SIGKILL");
}

Test(fault, last_words_on_stderr_are_in_the_error)
{
    expect_death("say_and_die", "{}",
                 "handler died: SIGSEGV\nstderr:\nthe last words of this handler");
}

Test(fault, spinning_handler_is_killed_at_its_deadline)
{
    task.task.timeout_s = 1;

    expect_death("spin", "{}", "timed out after 1 s");

    cr_assert_eq(pool_module_exits(faults, POOL_EXIT_TIMEOUT), 1);
}

Test(fault, stopped_handler_is_killed_at_its_deadline)
{
    task.task.timeout_s = 1;

    expect_death("stop", "{}", "timed out after 1 s");
}

Test(fault, polite_handler_ends_at_its_deadline_and_its_runner_lives)
{
    task.task.timeout_s = 1;

    harness_run(&h, &task, faults, "spin_politely", "{}");

    cr_assert_eq(task.outcome, POOL_FAILED);
    cr_assert_str_eq(task.error, "timed out after 1 s");
    cr_assert(!task.died);
    expect_next_task_is_fine(0);
    cr_assert_eq(pool_gauges(h.pool).spawned, 1);
}

Test(fault, garbage_in_place_of_a_frame_costs_one_attempt)
{
    harness_run(&h, &task, faults, "garbage_frame", "{}");

    cr_assert_eq(task.outcome, POOL_FAILED);
    cr_assert(task.died);
    cr_assert_str_eq(task.error,
                     "handler broke the runner protocol: frame of version 65535, expected 1");
    cr_assert_eq(pool_module_exits(faults, POOL_EXIT_PROTOCOL), 1);
    expect_next_task_is_fine(task.pid);
}

Test(fault, closing_every_descriptor_costs_one_attempt)
{
    expect_death("close_all", "{}", "exited with status 70");
}

/* As a process that dies slowly does: its socket ends long before it. */
Test(fault, end_of_the_socket_waits_for_the_end_of_the_process)
{
    expect_death("close_all", "{\"ms\": 500}", "exited with status 70");
}

static bool lost_its_socket(struct harness *harness, void *data)
{
    const struct runner_list *busy = &((struct pool_module *)data)->runners[RUNNER_BUSY];

    (void)harness;
    return busy->count > 0 && TAILQ_FIRST(&busy->runners)->socket_ended;
}

/* As after a SIGSTOP of the host: its time is over, and it has exited meanwhile. */
Test(fault, runner_that_exited_while_the_host_slept_is_not_blamed_for_its_socket)
{
    siginfo_t child;

    harness_submit(&h, &task, faults, "close_all", "{\"ms\": 200}");
    harness_wait_for(&h, lost_its_socket, faults);
    cr_assert_eq(waitid(P_PID, (id_t)TAILQ_FIRST(&faults->runners[RUNNER_BUSY].runners)->pid,
                        &child, WEXITED | WNOWAIT),
                 0);
    usleep(LIMIT_EXIT_AFTER_SOCKET_MS * 1000 + 100000);
    harness_wait(&h, &task.done, 1);

    cr_assert_str_eq(task.error, "exited with status 70");
}

Test(fault, flood_of_stderr_is_cut_and_its_task_completes)
{
    harness_run(&h, &task, faults, "flood", "{\"kib\": 1024}");

    cr_assert_eq(task.outcome, POOL_COMPLETED);
    cr_assert_str_eq(task.output, "16384");
    cr_assert_eq(h.line_count, 1024, "64 KiB of 64-byte lines, got %d", h.line_count);
    cr_assert(harness_has_event(&h, "output_dropped: more than 64 KiB on stderr"));
    expect_next_task_is_fine(0);
}

Test(fault, flood_of_stdout_is_cut_and_its_task_completes)
{
    harness_run(&h, &task, faults, "flood", "{\"kib\": 256, \"stdout\": 1}");

    cr_assert_eq(task.outcome, POOL_COMPLETED);
    cr_assert(harness_has_event(&h, "output_dropped: more than 64 KiB on stdout"));
    expect_next_task_is_fine(0);
}

static pid_t pid_of(const struct record *record)
{
    int pid = 0;

    cr_assert_eq(sscanf(record->output, "{\"pid\": %d}", &pid), 1);
    return pid;
}

static bool is_gone(struct harness *harness, void *data)
{
    (void)harness;
    return kill(*(pid_t *)data, 0) != 0;
}

/* Reaped, not only dead: a zombie still takes signals. */
static void expect_reaped_with_runner(const char *params)
{
    struct record killer = {0};
    pid_t child;

    harness_run(&h, &task, faults, "fork", params);
    child = pid_of(&task);
    cr_assert_eq(kill(child, 0), 0);

    harness_run(&h, &killer, faults, "segv", "{}");
    harness_wait_for(&h, is_gone, &child);

    record_free(&killer);
    expect_next_task_is_fine(task.pid);
}

Test(fault, child_of_a_handler_dies_with_the_group_and_is_reaped)
{
    expect_reaped_with_runner("{}");
}

Test(fault, orphan_of_a_handler_dies_with_the_group_and_is_reaped)
{
    expect_reaped_with_runner("{\"double\": 1}");
}

Test(fault, child_in_its_own_session_dies_with_its_runner_and_is_reaped)
{
    expect_reaped_with_runner("{\"session\": 1}");
}

Test(fault, orphan_in_its_own_session_dies_with_its_runner_and_is_reaped)
{
    expect_reaped_with_runner("{\"session\": 1, \"double\": 1}");
}

Test(fault, family_in_sessions_of_their_own_dies_with_its_runner_and_is_reaped)
{
    expect_reaped_with_runner("{\"session\": 1, \"double\": 1, \"chain\": 5}");
}

/* A program that starts helpers and then executes the host is their parent's pid. */
Test(fault, child_that_was_there_before_the_pool_is_left_alone)
{
    struct record killer = {0};

    harness_run(&h, &killer, faults, "segv", "{}");
    expect_next_task_is_fine(killer.pid);
    cr_assert_eq(waitpid(helper, NULL, WNOHANG), 0, "it still runs");
    record_free(&killer);
}

/* As PID 1 of a container is given what somebody else left there. */
Test(fault, child_without_the_marks_of_a_runner_is_left_alone)
{
    struct record killer = {0};
    pid_t stranger = start_helper();

    harness_run(&h, &killer, faults, "segv", "{}");
    expect_next_task_is_fine(killer.pid);
    cr_assert_eq(waitpid(stranger, NULL, WNOHANG), 0, "it still runs");
    (void)kill(stranger, SIGKILL);
    record_free(&killer);
}

Test(fault, closing_the_pool_ends_what_handlers_left_behind)
{
    harness_run(&h, &task, faults, "fork", "{\"session\": 1, \"double\": 1, \"chain\": 5}");
    expect_gone_at_finish = pid_of(&task);
}

static bool has_exit(struct harness *harness, void *data)
{
    (void)harness;
    return pool_module_exits(faults, *(enum pool_exit_cause *)data) == 1;
}

static void expect_only_the_parent_answers(const char *params)
{
    harness_run(&h, &task, faults, "fork_returns", params);

    cr_assert_eq(task.outcome, POOL_COMPLETED, "%s", task.error);
    cr_assert_str_eq(task.output, "\"of the parent\"");
    expect_next_task_is_fine(0);
    cr_assert_eq(pool_gauges(h.pool).spawned, 1);
    cr_assert_eq(harness_count_lines(&h, NULL, POOL_LOG, "a line of the child"), 0);
}

Test(fault, child_that_returns_out_of_the_handler_answers_nothing)
{
    expect_only_the_parent_answers("{}");
}

Test(fault, child_that_crashes_costs_nothing)
{
    expect_only_the_parent_answers("{\"crash\": 1}");
}

Test(fault, death_while_idle_costs_nothing)
{
    enum pool_exit_cause cause = POOL_EXIT_SIGNAL;

    harness_run(&h, &task, faults, "die_later", "{\"ms\": 20}");
    cr_assert_eq(task.outcome, POOL_COMPLETED);
    harness_wait_for(&h, has_exit, &cause);

    cr_assert_eq(task.done, 1);
    expect_next_task_is_fine(task.pid);
}

#ifdef PGFLOW_SANITIZED
enum { KILLS = 100 }; /* starting a runner takes ten times as long */
#else
enum { KILLS = 500 };
#endif

Test(fault, five_hundred_kills_leave_no_descriptor_and_no_zombie)
{
    static struct record killed[KILLS];
    int fds;

    harness_run(&h, &task, faults, "echo", "{}");
    fds = harness_count_fds();

    for (int i = 0; i < KILLS; i++) {
        struct record next = {0};

        harness_run(&h, &killed[i], faults, "kill", "{\"signal\": 9}");
        cr_assert_eq(killed[i].outcome, POOL_FAILED);
        harness_run(&h, &next, faults, "nothing", "{}");
        cr_assert_eq(next.outcome, POOL_COMPLETED);
        record_free(&killed[i]);
        record_free(&next);
    }

    cr_assert_leq(harness_count_fds(), fds + 1);
}

/* The shadow memory of a sanitizer takes terabytes of address space. */
static void skip_without_memory_limit(void)
{
#ifdef PGFLOW_SANITIZED
    cr_skip_test("there is no memory limit in a sanitizer build");
#endif
}

Test(memory_fault, hog_dies_at_its_memory_limit)
{
    skip_without_memory_limit();

    expect_death("hog", "{}", "handler died: SIGABRT (at its memory limit of 128 MiB)");
}

Test(memory_fault, leaking_runner_is_recycled_before_it_dies)
{
    skip_without_memory_limit();
    for (int i = 0; i < 20; i++) {
        struct record leak = {0};

        harness_run(&h, &leak, faults, "leak", "{\"mib\": 8}");

        cr_assert_eq(leak.outcome, POOL_COMPLETED, "call %d: %s", i, leak.error);
        record_free(&leak);
    }
    cr_assert_geq(pool_module_exits(faults, POOL_EXIT_RECYCLED), 1);
}
