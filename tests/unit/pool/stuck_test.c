/*
 * Runners that hang outside of any handler, and a machine that has no room for
 * another one: nobody is to blame, and no slot is lost.
 */
#include "harness.h"

#include "pool/pool_internal.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

static struct harness h;
static struct pool_module *faults;

static void begin(uint32_t concurrency)
{
    harness_init(&h);
    h.config.concurrency = concurrency;
    h.config.ready_timeout_ms = 1000;
    h.config.grace_ms = 50;
    harness_start(&h);
    faults = harness_add(&h, "faults");
    pool_warm(faults);
    harness_wait(&h, &h.ready_count, 1);
}

static void end(void)
{
    harness_finish(&h);
}

TestSuite(stuck, .fini = end, .timeout = 60);

static struct runner *only_runner(void)
{
    return TAILQ_FIRST(&faults->runners[RUNNER_IDLE].runners);
}

static void expect_completed(struct record *record, const char *output)
{
    harness_wait(&h, &record->done, 1);
    cr_assert_eq(record->outcome, POOL_COMPLETED, "%s", record->error);
    cr_assert_str_eq(record->output, output);
    cr_assert_eq(record->started, 1);
    record_free(record);
}

Test(stuck, frozen_runner_is_replaced_and_its_task_runs_unblamed)
{
    struct record task = {0};
    pid_t frozen;

    begin(1);
    frozen = only_runner()->pid;
    (void)kill(frozen, SIGSTOP);
    harness_submit(&h, &task, faults, "echo", "{\"n\": 1}");
    harness_wait(&h, &task.done, 1);

    cr_assert_neq(task.pid, frozen);
    cr_assert_eq(pool_module_exits(faults, POOL_EXIT_STUCK), 1);
    cr_assert(harness_has_event(&h, "runner_exit: runner ended (stuck): did not take up a task"));
    expect_completed(&task, "{\"n\": 1}");
}

Test(stuck, frozen_runner_whose_task_was_recalled_frees_its_slot)
{
    struct record first = {0}, second = {0};

    begin(1);
    (void)kill(only_runner()->pid, SIGSTOP);
    harness_submit(&h, &first, faults, "echo", "{\"n\": 1}");
    cr_assert(pool_recall(h.pool, &first.task));
    harness_submit(&h, &second, faults, "echo", "{\"n\": 2}");
    harness_wait(&h, &second.done, 1);

    cr_assert_eq(first.outcome, POOL_RETURNED);
    cr_assert_eq(pool_module_exits(faults, POOL_EXIT_STUCK), 1);
    expect_completed(&second, "{\"n\": 2}");
    record_free(&first);
}

Test(stuck, runner_that_answered_while_the_host_was_frozen_is_left_alone)
{
    struct record task = {0};
    struct timespec longer = {.tv_sec = 1, .tv_nsec = 200000000};

    begin(1);
    harness_submit(&h, &task, faults, "echo", "{\"n\": 1}");
    (void)nanosleep(&longer, NULL); /* as a SIGSTOP of the host would be: the clock goes on */

    expect_completed(&task, "{\"n\": 1}");
    cr_assert_eq(pool_module_exits(faults, POOL_EXIT_STUCK), 0);
    cr_assert_eq(pool_gauges(h.pool).spawned, 1);
}

/* Until STARTED of that task lies in the socket, unread. */
static void wait_for_started(struct runner *runner, uint64_t number)
{
    static char seen[64 * LIMIT_KIB];
    ssize_t size = 0;

    while (!frame_reader_has(&runner->reader, seen, (size_t)size, FRAME_STARTED, number))
        size = recv(runner->socket, seen, sizeof seen, MSG_PEEK);
}

Test(stuck, task_cancelled_before_its_start_was_read_is_stopped_all_the_same)
{
    struct record first = {0}, second = {0};
    struct runner *runner;

    begin(1);
    runner = only_runner();
    harness_submit(&h, &first, faults, "nothing", "{}");
    harness_submit(&h, &second, faults, "spin", "{}");
    wait_for_started(runner, second.task.number);
    pool_cancel(h.pool, &second.task, POOL_SHUTDOWN);
    harness_wait(&h, &second.done, 1);

    expect_completed(&first, "null");
    cr_assert_eq(second.outcome, POOL_CANCELLED);
    cr_assert_eq(second.why, POOL_SHUTDOWN);
    record_free(&second);
}

static void limit_descriptors(rlim_t number)
{
    struct rlimit limit;

    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = number;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

Test(stuck, module_goes_on_with_the_runners_it_has_when_no_other_can_be_started)
{
    static struct record tasks[3];

    begin(3);
    limit_descriptors(3);
    for (int i = 0; i < 3; i++)
        harness_submit(&h, &tasks[i], faults, "sleep", "{\"ms\": 50}");
    for (int i = 0; i < 3; i++)
        expect_completed(&tasks[i], "50");

    cr_assert_eq(h.suspended_count, 0);
    cr_assert(harness_has_event(&h, "runner_not_started: faults goes on with 1 runners"));
    cr_assert_eq(pool_gauges(h.pool).spawned, 1);
    limit_descriptors(256);
    harness_submit(&h, &tasks[0], faults, "sleep", "{\"ms\": 1500}");
    harness_submit(&h, &tasks[1], faults, "sleep", "{\"ms\": 10}");
    harness_wait(&h, &tasks[1].done, 1);
    cr_assert_eq(pool_gauges(h.pool).spawned, 2, "tried again after a while");
    for (int i = 0; i < 2; i++)
        expect_completed(&tasks[i], i == 0 ? "1500" : "10");
}
