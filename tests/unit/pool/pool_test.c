/*
 * Runners that come and go: on demand, idle, recycled, suspended, cancelled, killed.
 */
#include "harness.h"

#include "pool/pool_internal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct harness h;

static void begin(void)
{
    harness_init(&h);
    h.config.grace_ms = 50;
}

static void end(void)
{
    harness_finish(&h);
}

TestSuite(pool, .init = begin, .fini = end, .timeout = 60);

static struct pool_module *start_with(const char *name)
{
    harness_start(&h);
    return harness_add(&h, name);
}

Test(pool, warm_brings_one_runner_to_ready_and_tells_it)
{
    struct pool_module *noop = start_with("noop");

    pool_warm(noop);
    harness_wait(&h, &h.ready_count, 1);

    cr_assert_eq(pool_gauges(h.pool).idle, 1);
    cr_assert_eq(h.suspended_count, 0);
}

Test(pool, warm_answers_for_a_module_that_is_ready_already)
{
    struct pool_module *noop = start_with("noop");

    pool_warm(noop);
    harness_wait(&h, &h.ready_count, 1);
    pool_warm(noop);
    harness_wait(&h, &h.ready_count, 2);

    cr_assert_eq(pool_gauges(h.pool).spawned, 1);
}

Test(pool, never_more_than_concurrency_handlers_run)
{
    struct record records[6] = {0};
    struct pool_module *faults;

    h.config.concurrency = 3;
    faults = start_with("faults");
    for (int i = 0; i < 6; i++)
        harness_submit(&h, &records[i], faults, "sleep", "{\"ms\": 50}");
    for (int i = 0; i < 6; i++) {
        while (records[i].done == 0) {
            cr_assert_leq(pool_gauges(h.pool).busy, 3);
            (void)uv_run(&h.loop, UV_RUN_ONCE);
        }
        cr_assert_eq(records[i].outcome, POOL_COMPLETED);
        record_free(&records[i]);
    }

    cr_assert_eq(pool_gauges(h.pool).spawned, 3);
}

Test(pool, two_modules_share_the_slots)
{
    struct record a = {0}, b = {0};
    struct pool_module *noop, *faults;

    h.config.concurrency = 1;
    noop = start_with("noop");
    faults = harness_add(&h, "faults");
    harness_submit(&h, &a, faults, "sleep", "{\"ms\": 50}");
    harness_submit(&h, &b, noop, "noop", "{}");
    harness_wait(&h, &b.done, 1);

    cr_assert_eq(a.done, 1, "the older task goes first");
    cr_assert_str_eq(b.output, "null");
    record_free(&a);
    record_free(&b);
}

Test(pool, task_behind_a_slow_handler_moves_to_a_free_slot)
{
    struct record slow = {0}, quick = {0}, waiting = {0};
    struct pool_module *faults;

    h.config.concurrency = 2;
    faults = start_with("faults");
    harness_submit(&h, &slow, faults, "sleep", "{\"ms\": 20000}");
    harness_submit(&h, &quick, faults, "sleep", "{\"ms\": 100}");
    harness_wait(&h, &slow.started, 1);
    harness_wait(&h, &quick.started, 1);
    /* Both slots are busy: this one waits in a socket, perhaps the slow one's. */
    harness_submit(&h, &waiting, faults, "echo", "{\"n\": 1}");
    harness_wait(&h, &waiting.done, 1);

    cr_assert_eq(waiting.outcome, POOL_COMPLETED);
    cr_assert_eq(slow.done, 0);
    pool_cancel(h.pool, &slow.task, POOL_SHUTDOWN);
    harness_wait(&h, &slow.done, 1);
    record_free(&slow);
    record_free(&quick);
    record_free(&waiting);
}

static bool has_one_runner(struct harness *harness, void *data)
{
    struct pool_gauges gauges = pool_gauges(harness->pool);

    (void)data;
    return gauges.idle == 1 && gauges.stopping == 0;
}

Test(pool, idle_runners_end_but_one_of_a_module_stays)
{
    struct record records[2] = {0};
    struct pool_module *faults;

    h.config.runner_idle_s = 1;
    faults = start_with("faults");
    for (int i = 0; i < 2; i++)
        harness_submit(&h, &records[i], faults, "sleep", "{\"ms\": 50}");
    for (int i = 0; i < 2; i++)
        harness_wait(&h, &records[i].done, 1);
    cr_assert_eq(pool_gauges(h.pool).idle, 2);
    harness_wait_for(&h, has_one_runner, NULL);

    cr_assert_eq(pool_module_exits(faults, POOL_EXIT_IDLE), 1);
    for (int i = 0; i < 2; i++)
        record_free(&records[i]);
}

Test(pool, runner_is_recycled_after_its_number_of_tasks)
{
    struct pool_module *noop;
    pid_t pids[7];

    h.config.runner_max_tasks = 3;
    noop = start_with("noop");
    for (int i = 0; i < 7; i++) {
        struct record record = {0};

        harness_run(&h, &record, noop, "noop", "{}");
        cr_assert_eq(record.outcome, POOL_COMPLETED);
        pids[i] = record.pid;
        record_free(&record);
    }

    cr_assert(pids[0] == pids[2] && pids[3] == pids[5]);
    cr_assert(pids[2] != pids[3] && pids[5] != pids[6]);
    cr_assert_eq(pool_gauges(h.pool).spawned, 3);
}

static const uint32_t quick_schedule[] = {20, 40, 60, 0};

Test(pool, module_that_cannot_start_is_held_and_its_tasks_come_back)
{
    struct record task = {0};
    struct pool_module *module;

    h.config.hold_schedule_ms = quick_schedule;
    module = start_with("init_crashes");
    pool_warm(module);
    harness_wait(&h, &h.suspended_count, 1);
    cr_assert_str_eq(h.suspend_reason, "handler died: SIGABRT");
    harness_run(&h, &task, module, "only", "{}");
    cr_assert_eq(task.outcome, POOL_RETURNED);
    harness_wait(&h, &h.suspended_count, 4);

    cr_assert_eq(h.ready_count, 0);
    cr_assert_geq(pool_module_exits(module, POOL_EXIT_START), 4);
    record_free(&task);
}

Test(pool, init_that_fails_is_told_with_its_last_log_line)
{
    struct pool_module *module = start_with("init_fails");

    pool_warm(module);
    harness_wait(&h, &h.suspended_count, 1);

    cr_assert_str_eq(h.suspend_reason,
                     "init returned 7: init: dictionary /nonexistent/words is missing");
    cr_assert_eq(harness_count_lines(&h, NULL, POOL_LOG, "init: opening the dictionary"), 1);
}

static void expect_served(const char *name)
{
    struct record task = {0};
    struct pool_module *module = start_with(name);

    pool_warm(module);
    harness_wait(&h, &h.ready_count, 1);
    harness_run(&h, &task, module, "only", "{}");

    cr_assert_eq(task.outcome, POOL_COMPLETED, "%s", task.error);
    cr_assert_eq(pool_gauges(h.pool).spawned, 1);
    record_free(&task);
}

Test(pool, child_that_comes_back_out_of_a_constructor_says_nothing)
{
    expect_served("ctor_forks");
}

Test(pool, child_that_comes_back_out_of_init_says_nothing)
{
    expect_served("init_forks");
}

Test(pool, init_that_hangs_is_killed_and_the_module_held)
{
    struct pool_module *module;

    h.config.ready_timeout_ms = 300;
    module = start_with("init_hangs");
    pool_warm(module);
    harness_wait(&h, &h.suspended_count, 1);

    cr_assert_str_eq(h.suspend_reason, "not ready after 1 s");
}

/* The runner's socket can be read, though nobody looks. */
static void wait_for_its_word(const struct runner *runner)
{
    struct pollfd word = {.fd = runner->socket, .events = POLLIN};

    cr_assert_eq(poll(&word, 1, 30000), 1);
}

/* As after a SIGSTOP of the host: the deadline has passed and READY lies there. */
Test(pool, runner_that_was_ready_while_the_host_slept_is_taken)
{
    struct pool_module *module;

    h.config.ready_timeout_ms = 1;
    module = start_with("noop");
    pool_warm(module);
    while (module->runners[RUNNER_STARTING].count == 0)
        (void)uv_run(&h.loop, UV_RUN_ONCE);
    wait_for_its_word(TAILQ_FIRST(&module->runners[RUNNER_STARTING].runners));
    harness_wait(&h, &h.ready_count, 1);

    cr_assert_eq(h.suspended_count, 0);
    cr_assert_eq(pool_gauges(h.pool).spawned, 1);
}

Test(pool, held_module_is_served_again_once_it_starts)
{
    static const char *const pass[] = {"MOODY_FILE", NULL};
    struct record task = {0};
    struct pool_module *module;
    char mood[128];

    snprintf(mood, sizeof mood, "%s/mood", h.folder);
    (void)setenv("MOODY_FILE", mood, 1);
    (void)close(open(mood, O_CREAT | O_WRONLY, 0600));
    h.config.pass_env = pass;
    h.config.hold_schedule_ms = quick_schedule;
    module = start_with("init_moody");
    pool_warm(module);
    harness_wait(&h, &h.suspended_count, 2);
    (void)unlink(mood);
    harness_wait(&h, &h.ready_count, 1);

    harness_run(&h, &task, module, "only", "{}");
    cr_assert_eq(task.outcome, POOL_COMPLETED, "%s", task.error);
    record_free(&task);
}

/* As "pgflowctl exec" has it: its init must not run twice. */
Test(pool, module_is_held_for_good_by_an_empty_schedule)
{
    static const uint32_t none[] = {0};

    h.config.hold_schedule_ms = none;
    pool_warm(start_with("init_fails"));
    harness_wait(&h, &h.suspended_count, 1);
    for (int i = 0; i < 10; i++)
        (void)uv_run(&h.loop, UV_RUN_NOWAIT);

    cr_assert_eq(pool_gauges(h.pool).spawned, 1);
}

Test(pool, five_deaths_in_a_row_hold_the_module)
{
    struct pool_module *faults;

    h.config.hold_schedule_ms = quick_schedule;
    faults = start_with("faults");
    for (int i = 0; i < 5; i++) {
        struct record dead = {0};

        cr_assert_eq(h.suspended_count, 0);
        harness_run(&h, &dead, faults, "segv", "{}");
        cr_assert_eq(dead.outcome, POOL_FAILED);
        record_free(&dead);
    }

    harness_wait(&h, &h.suspended_count, 1);
    h.ready_count = 0;
    harness_wait(&h, &h.ready_count, 1);
}

Test(pool, finished_task_between_deaths_keeps_the_module_served)
{
    struct pool_module *faults = start_with("faults");

    for (int i = 0; i < 8; i++) {
        struct record dead = {0}, fine = {0};

        harness_run(&h, &dead, faults, "segv", "{}");
        if (i % 4 == 3)
            harness_run(&h, &fine, faults, "nothing", "{}");
        record_free(&dead);
        record_free(&fine);
    }

    cr_assert_eq(h.suspended_count, 0);
}

Test(pool, cancelled_task_whose_run_ended_is_dropped)
{
    struct record task = {0};
    struct pool_module *faults = start_with("faults");

    harness_submit(&h, &task, faults, "spin_politely", "{}");
    harness_wait(&h, &task.started, 1);
    pool_cancel(h.pool, &task.task, POOL_RUN_ENDED);
    harness_wait(&h, &task.done, 1);

    cr_assert_eq(task.outcome, POOL_CANCELLED);
    cr_assert_eq(task.why, POOL_RUN_ENDED);
    cr_assert(!task.died);
    record_free(&task);
}

Test(pool, cancelled_task_that_does_not_listen_is_killed)
{
    struct record task = {0};
    struct pool_module *faults = start_with("faults");

    harness_submit(&h, &task, faults, "spin", "{}");
    harness_wait(&h, &task.started, 1);
    pool_cancel(h.pool, &task.task, POOL_SHUTDOWN);
    harness_wait(&h, &task.done, 1);

    cr_assert_eq(task.outcome, POOL_CANCELLED);
    cr_assert_eq(task.why, POOL_SHUTDOWN);
    cr_assert(task.was_started);
    cr_assert_eq(pool_module_exits(faults, POOL_EXIT_KILLED), 1);
    record_free(&task);
}

Test(pool, cancelled_task_that_has_not_begun_is_returned)
{
    struct record first = {0}, second = {0};
    struct pool_module *faults;

    h.config.concurrency = 1;
    faults = start_with("faults");
    harness_submit(&h, &first, faults, "sleep", "{\"ms\": 100}");
    harness_submit(&h, &second, faults, "echo", "{}");
    pool_cancel(h.pool, &second.task, POOL_SHUTDOWN);
    harness_wait(&h, &second.done, 1);

    cr_assert_eq(second.outcome, POOL_RETURNED);
    harness_wait(&h, &first.done, 1);
    cr_assert_eq(first.outcome, POOL_COMPLETED);
    record_free(&first);
    record_free(&second);
}

Test(pool, handler_that_completes_in_spite_of_a_cancel_is_completed)
{
    struct record task = {0};
    struct pool_module *faults;

    h.config.grace_ms = 2000;
    faults = start_with("faults");
    harness_submit(&h, &task, faults, "sleep", "{\"ms\": 50}");
    harness_wait(&h, &task.started, 1);
    pool_cancel(h.pool, &task.task, POOL_SHUTDOWN);
    harness_wait(&h, &task.done, 1);

    cr_assert_eq(task.outcome, POOL_COMPLETED);
    cr_assert_str_eq(task.output, "50");
    record_free(&task);
}

Test(pool, kill_all_ends_every_task_and_starts_nothing)
{
    struct record records[5] = {0};
    struct pool_module *faults;
    uint64_t spawned;

    h.config.concurrency = 2;
    faults = start_with("faults");
    for (int i = 0; i < 5; i++)
        harness_submit(&h, &records[i], faults, "spin", "{}");
    harness_wait(&h, &records[0].started, 1);
    harness_wait(&h, &records[1].started, 1);
    spawned = pool_gauges(h.pool).spawned;
    pool_kill_all(h.pool);
    for (int i = 0; i < 5; i++)
        harness_wait(&h, &records[i].done, 1);

    for (int i = 0; i < 5; i++) {
        cr_assert_eq(records[i].outcome, i < 2 ? POOL_CANCELLED : POOL_RETURNED);
        cr_assert_eq(records[i].was_started, i < 2);
        record_free(&records[i]);
    }
    cr_assert_eq(pool_gauges(h.pool).spawned, spawned);
}

Test(pool, close_gives_every_task_back)
{
    static struct record running, waiting; /* done while the pool closes */
    struct pool_module *faults;

    h.config.concurrency = 1;
    faults = start_with("faults");
    harness_submit(&h, &running, faults, "spin", "{}");
    harness_submit(&h, &waiting, faults, "echo", "{}");
    harness_wait(&h, &running.started, 1);
    harness_finish(&h);

    cr_assert_eq(running.outcome, POOL_CANCELLED);
    cr_assert_eq(waiting.outcome, POOL_RETURNED);
    record_free(&running);
    record_free(&waiting);
    begin(); /* for the end of the suite */
    harness_start(&h);
}

Test(pool, sandbox_leaves_what_it_should)
{
    struct record task = {0};
    struct pool_module *faults;
    char expected[64];

    (void)setenv("PGFLOW_DATABASE", "postgres://secret", 1);
    faults = start_with("faults");
    harness_run(&h, &task, faults, "self", "{}");

    cr_assert_eq(task.outcome, POOL_COMPLETED, "%s", task.error);
    snprintf(expected, sizeof expected, "\"ppid\": %d, \"sid\": %d,", getpid(), task.pid);
    cr_assert_not_null(strstr(task.output, expected), "%s", task.output);
    cr_assert_not_null(strstr(task.output, "\"coreLimit\": 0,"), "%s", task.output);
    cr_assert_not_null(strstr(task.output, "\"noNewPrivs\": 1,"), "%s", task.output);
    cr_assert_not_null(strstr(task.output, "\"sigpipeIgnored\": true"), "%s", task.output);
    cr_assert_null(strstr(task.output, "PGFLOW_DATABASE"), "%s", task.output);
    cr_assert_not_null(strstr(task.output, "\"PATH\""), "%s", task.output);
#ifndef PGFLOW_SANITIZED
    cr_assert_not_null(strstr(task.output, "\"memoryLimit\": 536870912,"), "%s", task.output);
#endif
    record_free(&task);
}

/* In a process of its own: a host that is killed without a word. */
static void be_a_host_until_killed(int report)
{
    struct record task = {0};
    struct pool_module *faults = start_with("faults");

    harness_run(&h, &task, faults, "nothing", "{}");
    if (write(report, &task.pid, sizeof task.pid) != (ssize_t)sizeof task.pid)
        _exit(1);
    for (;;)
        pause();
}

Test(host, killed_host_takes_its_runners_along)
{
    struct pollfd end = {.events = POLLIN};
    pid_t runner = 0;
    pid_t host;
    int report[2];

    cr_assert_eq(pipe(report), 0);
    host = fork();
    if (host == 0) {
        begin();
        be_a_host_until_killed(report[1]);
    }
    cr_assert_eq(read(report[0], &runner, sizeof runner), (ssize_t)sizeof runner);
    end.fd = pidfd_open(runner, 0);
    cr_assert_geq(end.fd, 0);
    (void)kill(host, SIGKILL);

    cr_assert_eq(poll(&end, 1, 10000), 1, "the runner lives on");
    (void)waitpid(host, NULL, 0);
}

Test(pool, handler_user_is_who_runs_the_handler)
{
    struct record task = {0};
    struct pool_module *faults;

    if (geteuid() != 0)
        cr_skip_test("needs root");
    h.config.handler_uid = 65534;
    h.config.handler_gid = 65534;
    chmod(h.folder, 0755);
    faults = start_with("faults");
    harness_run(&h, &task, faults, "self", "{}");

    cr_assert_not_null(strstr(task.output, "\"uid\": 65534, \"gid\": 65534,"), "%s", task.output);
    record_free(&task);
}
