/*
 * Several short tasks at a time for one runner: when, how many, and that none of them waits behind
 * a handler that takes its time. And how many runners a burst starts.
 */
#include "harness.h"

#include "pool/pool_internal.h"

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

TestSuite(batch_size, .timeout = 60);

static struct pool_module after_handlers(int count, uint64_t us)
{
    struct pool_module module = {0};

    for (int i = 0; i < count; i++)
        module_note_finished(&module, us);
    return module;
}

Test(batch_size, is_one_task_until_twenty_handlers_in_a_row_were_short)
{
    struct pool_module module = after_handlers(19, 10);

    cr_assert_eq(module_batch_size(&module, 100), 1);
    module_note_finished(&module, LIMIT_SHORT_TASK_US - 1);
    cr_assert_eq(module_batch_size(&module, 100), CANCEL_PAGE_SLOTS);
    module_note_finished(&module, LIMIT_SHORT_TASK_US);
    cr_assert_eq(module_batch_size(&module, 100), 1);
}

Test(batch_size, is_a_quarter_of_what_waits_so_that_few_tasks_are_spread)
{
    struct pool_module module = after_handlers(20, 10);

    cr_assert_eq(module_batch_size(&module, 1), 1);
    cr_assert_eq(module_batch_size(&module, 7), 1);
    cr_assert_eq(module_batch_size(&module, 12), 3);
}

Test(batch_size, burst_starts_a_few_runners_at_a_time_and_fills_every_slot, .init = begin,
     .fini = end)
{
    struct record records[20] = {0};

    h.config.concurrency = 20;
    harness_start(&h);
    struct pool_module *faults = harness_add(&h, "faults");
    for (int i = 0; i < 20; i++)
        harness_submit(&h, &records[i], faults, "sleep", "{\"ms\": 20000}");
    cr_assert_eq(pool_gauges(h.pool).starting, LIMIT_STARTING_AT_ONCE);

    for (int i = 0; i < 20; i++)
        harness_wait(&h, &records[i].started, 1);
    cr_assert_eq(pool_gauges(h.pool).busy, 20);

    for (int i = 0; i < 20; i++)
        pool_cancel(h.pool, &records[i].task, POOL_SHUTDOWN);
    for (int i = 0; i < 20; i++) {
        harness_wait(&h, &records[i].done, 1);
        record_free(&records[i]);
    }
}

Test(batch_size, tasks_behind_a_slow_handler_move_to_other_runners, .init = begin, .fini = end)
{
    struct record slow = {0}, others[15] = {0};

    h.config.concurrency = 4;
    harness_start(&h);
    struct pool_module *faults = harness_add(&h, "faults");
    pool_warm(faults);
    harness_wait(&h, &h.ready_count, 1);
    faults->short_tasks = LIMIT_SHORT_TASKS_IN_A_ROW; /* as it was until now */

    harness_submit(&h, &slow, faults, "sleep", "{\"ms\": 20000}");
    for (int i = 0; i < 15; i++)
        harness_submit(&h, &others[i], faults, "echo", "{\"n\": 1}");
    for (int i = 0; i < 15; i++)
        harness_wait(&h, &others[i].done, 1);

    for (int i = 0; i < 15; i++) {
        cr_assert_eq(others[i].outcome, POOL_COMPLETED);
        record_free(&others[i]);
    }
    cr_assert_eq(slow.done, 0);
    pool_cancel(h.pool, &slow.task, POOL_SHUTDOWN);
    harness_wait(&h, &slow.done, 1);
    record_free(&slow);
}
