/*
 * A fault costs one attempt of one task: each way for a handler to go wrong, and
 * then a task on the same module that ends well.
 */
#include "harness.h"

#include <signal.h>
#include <string.h>

static struct harness h;
static struct pool_module *faults;
static struct record task;

static void open_faults(void)
{
    harness_init(&h);
    harness_start(&h);
    faults = harness_add(&h, "faults");
}

static void close_faults(void)
{
    record_free(&task);
    harness_finish(&h);
}

TestSuite(fault, .init = open_faults, .fini = close_faults, .timeout = 60);

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
