/*
 * Who is to blame when tasks wait behind each other in one runner: the oldest
 * unanswered one alone, and only if its handler had begun.
 */
#include "harness.h"

#include "pool/pool_internal.h"

#include <signal.h>
#include <string.h>

static struct harness h;
static struct pool_module *faults;

static void open_pool(void)
{
    harness_init(&h);
    h.config.concurrency = 1;
    h.config.grace_ms = 50;
    harness_start(&h);
    faults = harness_add(&h, "faults");
    pool_warm(faults);
    harness_wait(&h, &h.ready_count, 1);
}

static void close_pool(void)
{
    harness_finish(&h);
}

TestSuite(blame, .init = open_pool, .fini = close_pool, .timeout = 60);

static void expect_completed(struct record *record, const char *output)
{
    harness_wait(&h, &record->done, 1);
    cr_assert_eq(record->outcome, POOL_COMPLETED, "%s", record->error);
    cr_assert_str_eq(record->output, output);
    cr_assert_eq(record->started, 1);
    cr_assert_eq(record->done, 1);
    record_free(record);
}

Test(blame, tasks_behind_a_dying_one_move_to_another_runner)
{
    struct record first = {0}, second = {0}, third = {0};

    harness_submit(&h, &first, faults, "segv", "{}");
    harness_submit(&h, &second, faults, "echo", "{\"n\": 2}");
    harness_submit(&h, &third, faults, "echo", "{\"n\": 3}");
    harness_wait(&h, &first.done, 1);

    cr_assert_eq(first.outcome, POOL_FAILED);
    cr_assert_str_eq(first.error, "handler died: SIGSEGV");
    expect_completed(&second, "{\"n\": 2}");
    expect_completed(&third, "{\"n\": 3}");
    cr_assert_neq(second.pid, first.pid);
    cr_assert_eq(pool_gauges(h.pool).prefetched, 0);
    record_free(&first);
}

Test(blame, second_of_three_is_blamed_when_it_dies)
{
    struct record first = {0}, second = {0}, third = {0};

    harness_submit(&h, &first, faults, "echo", "{\"n\": 1}");
    harness_submit(&h, &second, faults, "abort", "{}");
    harness_submit(&h, &third, faults, "echo", "{\"n\": 3}");

    harness_wait(&h, &second.done, 1);

    cr_assert_eq(second.outcome, POOL_FAILED);
    expect_completed(&first, "{\"n\": 1}");
    expect_completed(&third, "{\"n\": 3}");
    record_free(&second);
}

Test(blame, answer_counts_though_its_runner_died_after_it)
{
    struct record first = {0}, second = {0}, third = {0};

    /* The thread that kills the process is started before the answer; the second
     * task sleeps into it. */
    harness_submit(&h, &first, faults, "die_later", "{\"ms\": 50}");
    harness_submit(&h, &second, faults, "sleep", "{\"ms\": 20000}");
    harness_submit(&h, &third, faults, "echo", "{\"n\": 3}");
    harness_wait(&h, &second.done, 1);

    expect_completed(&first, "\"answered\"");
    cr_assert_eq(second.outcome, POOL_FAILED);
    cr_assert_str_eq(second.error, "handler died: SIGABRT");
    expect_completed(&third, "{\"n\": 3}");
    record_free(&second);
}

Test(blame, deadline_kill_blames_the_task_in_flight_only)
{
    struct record first = {0}, second = {0};

    first.task.timeout_s = 1;
    harness_submit(&h, &first, faults, "spin", "{}");
    harness_submit(&h, &second, faults, "echo", "{\"n\": 2}");
    harness_wait(&h, &first.done, 1);

    cr_assert_str_eq(first.error, "timed out after 1 s");
    expect_completed(&second, "{\"n\": 2}");
    record_free(&first);
}

Test(blame, clock_of_a_waiting_task_starts_with_its_handler)
{
    struct record first = {0}, second = {0};

    second.task.timeout_s = 1;
    harness_submit(&h, &first, faults, "sleep", "{\"ms\": 1500}");
    harness_submit(&h, &second, faults, "sleep", "{\"ms\": 100}");

    expect_completed(&first, "1500");
    expect_completed(&second, "100");
}

static void kill_runner(struct record *record)
{
    (void)kill(*(pid_t *)record->data, SIGKILL);
}

Test(blame, killed_from_outside_is_a_death_of_the_task_in_flight)
{
    struct record probe = {0}, first = {0}, second = {0};
    pid_t pid;

    harness_run(&h, &probe, faults, "nothing", "{}");
    pid = probe.pid;
    harness_submit(&h, &first, faults, "sleep", "{\"ms\": 20000}");
    harness_submit(&h, &second, faults, "echo", "{\"n\": 2}");
    harness_wait(&h, &first.started, 1);
    first.data = &pid;
    kill_runner(&first);
    harness_wait(&h, &first.done, 1);

    cr_assert_str_eq(first.error, "handler died: SIGKILL");
    expect_completed(&second, "{\"n\": 2}");
    record_free(&first);
    record_free(&probe);
}

Test(blame, waiting_task_can_be_recalled_and_the_runner_skips_it)
{
    struct record first = {0}, second = {0}, third = {0};

    harness_submit(&h, &first, faults, "sleep", "{\"ms\": 200}");
    harness_submit(&h, &second, faults, "echo", "{\"n\": 2}");
    harness_submit(&h, &third, faults, "echo", "{\"n\": 3}");
    harness_wait(&h, &first.started, 1);
    cr_assert(pool_recall(h.pool, &second.task));
    cr_assert_eq(second.done, 0, "no callback inside of a pool_ function");
    harness_wait(&h, &second.done, 1);

    cr_assert_eq(second.outcome, POOL_RETURNED);
    cr_assert_eq(second.started, 0);
    cr_assert(!second.was_started);
    cr_assert_eq(first.done, 0, "the answer came at once, not behind the first task");
    expect_completed(&first, "200");
    expect_completed(&third, "{\"n\": 3}");
    cr_assert_eq(pool_gauges(h.pool).spawned, 1);
    record_free(&second);
}

Test(blame, running_task_cannot_be_recalled)
{
    struct record first = {0};

    harness_submit(&h, &first, faults, "sleep", "{\"ms\": 100}");
    harness_wait(&h, &first.started, 1);

    cr_assert(!pool_recall(h.pool, &first.task));

    expect_completed(&first, "100");
}

Test(blame, recalled_task_half_in_the_socket_leaves_the_runner_whole)
{
    static char big[8 * LIMIT_MIB];
    struct record probe = {0}, first = {0}, second = {0};

    memset(big, ' ', sizeof big - 1);
    memcpy(big, "{\"ms\": 0}", strlen("{\"ms\": 0}"));
    harness_run(&h, &probe, faults, "nothing", "{}");
    /* A stopped runner reads nothing, and the socket does not take 8 MiB. */
    cr_assert_eq(kill(probe.pid, SIGSTOP), 0);
    harness_submit(&h, &first, faults, "echo", big);
    cr_assert(pool_recall(h.pool, &first.task));
    cr_assert_eq(kill(probe.pid, SIGCONT), 0);
    harness_wait(&h, &first.done, 1);
    cr_assert_eq(first.outcome, POOL_RETURNED);
    record_free(&first);

    harness_submit(&h, &second, faults, "echo", "{\"n\": 2}");
    expect_completed(&second, "{\"n\": 2}");
    cr_assert_eq(pool_gauges(h.pool).spawned, 1);
    record_free(&probe);
}

/* Recall races with the start of the handler; whoever wins, both sides agree:
 * a task that came back did not run, one that did not come back did. */
Test(blame, recall_and_start_never_both_win)
{
    int returned = 0, completed = 0;

    for (int i = 0; i < 400 || returned == 0 || completed == 0; i++) {
        struct record record = {0};

        harness_submit(&h, &record, faults, "sleep", "{\"ms\": 0}");
        for (volatile int spin = 0; spin < (i % 400) * 500; spin++)
            continue;
        if (pool_recall(h.pool, &record.task)) {
            harness_wait(&h, &record.done, 1);
            cr_assert_eq(record.outcome, POOL_RETURNED);
            cr_assert_eq(record.started, 0);
            returned++;
        } else {
            harness_wait(&h, &record.done, 1);
            completed += record.outcome == POOL_COMPLETED;
            cr_assert_eq(record.started, record.outcome == POOL_COMPLETED);
        }
        record_free(&record);
    }
}

/* ---- A stop signal that reaches runner and host alike ---- */

/* The pid of the runner in whose handler the task then is. */
static pid_t start_sleep(struct record *record)
{
    harness_submit(&h, record, faults, "sleep", "{\"ms\": 600000}");
    harness_wait(&h, &record->started, 1);
    return record->task.runner->pid;
}

static void expect_recalled(struct record *record)
{
    harness_wait(&h, &record->done, 1);
    cr_assert_eq(record->outcome, POOL_CANCELLED, "%s", record->error);
    cr_assert_eq(record->why, POOL_SHUTDOWN);
    cr_assert(record->was_started);
    record_free(record);
}

static void expect_recalled_after(int number)
{
    struct record task = {0};

    pool_note_stop(h.pool);
    (void)kill(start_sleep(&task), number);
    expect_recalled(&task);
    cr_assert_eq(h.suspended_count, 0);
}

Test(blame, nobody_is_when_a_stopping_host_and_its_runner_get_sigterm)
{
    expect_recalled_after(SIGTERM);
}

Test(blame, nobody_is_when_a_stopping_host_and_its_runner_get_sigint)
{
    expect_recalled_after(SIGINT);
}

/* As a runtime does that ends by an exit when it is told to stop. */
Test(blame, nobody_is_when_the_runner_of_a_stopping_host_exits_with_143)
{
    struct record task = {0};

    pool_note_stop(h.pool);
    harness_submit(&h, &task, faults, "exit", "{\"status\": 143}");
    expect_recalled(&task);
}

static bool has_exited(struct harness *harness, void *data)
{
    (void)data;
    return pool_gauges(harness->pool).stopping == 1;
}

Test(blame, nobody_is_when_the_runner_was_signalled_before_its_host)
{
    struct record task = {0};

    (void)kill(start_sleep(&task), SIGTERM);
    harness_wait_for(&h, has_exited, NULL);
    cr_assert_eq(task.done, 0, "judged before the host can know");
    pool_note_stop(h.pool);
    expect_recalled(&task);
}

Test(blame, handler_is_when_its_runner_alone_gets_sigterm)
{
    struct record task = {0};

    (void)kill(start_sleep(&task), SIGTERM);
    harness_wait(&h, &task.done, 1);
    cr_assert_eq(task.outcome, POOL_FAILED);
    cr_assert_str_eq(task.error, "handler died: SIGTERM");
    record_free(&task);
}

Test(blame, handler_is_when_it_crashes_while_the_host_stops)
{
    struct record task = {0};

    pool_note_stop(h.pool);
    harness_run(&h, &task, faults, "segv", "{}");
    cr_assert_eq(task.outcome, POOL_FAILED);
    cr_assert_str_eq(task.error, "handler died: SIGSEGV");
    record_free(&task);
}
