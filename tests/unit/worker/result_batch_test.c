/*
 * Which results go into the next call once the database has refused one.
 */
#include "worker/worker_private.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

#define DUE 1
#define FAR (UINT64_MAX / 2)

static struct worker *worker;
static struct result_batch *batch;
static struct db_claim_row rows[8];

static void setup(void)
{
    worker = calloc(1, sizeof *worker);
    task_table_init(&worker->tasks);
    batch = &worker->results.finish;
}

static void teardown(void)
{
    while (TAILQ_FIRST(&worker->tasks.tasks) != NULL) {
        TAILQ_FIRST(&worker->tasks.tasks)->row = NULL;
        task_remove(&worker->tasks, TAILQ_FIRST(&worker->tasks.tasks));
    }
    free(worker);
}

TestSuite(result_batch, .init = setup, .fini = teardown);

/* A handler of this run has come to its end. */
static struct task *result_of(const char *run, enum task_verdict verdict)
{
    struct db_claim_row *row = &rows[task_count(&worker->tasks)];

    row->run_id = run;
    struct task *task = task_add(&worker->tasks, row, NULL, 1);
    cr_assert(ne(ptr, task, NULL));
    task_decide(&worker->tasks, task, verdict, "1", 1);
    return task;
}

static void expect_on_board(size_t count, const struct task *first)
{
    cr_assert(result_batch_fill(worker, batch, false));
    cr_assert(eq(sz, batch->count, count));
    cr_assert(eq(ptr, batch->tasks[0], (void *)first));
}

static void refused(void)
{
    result_batch_requeue(worker, batch);
}

Test(result_batch, results_go_together_and_releases_by_themselves)
{
    struct task *first = result_of("a", VERDICT_COMPLETED);
    struct task *second = result_of("b", VERDICT_RELEASE);
    result_of("b", VERDICT_FAILED);

    expect_on_board(2, first);

    cr_assert(result_batch_fill(worker, &worker->results.release, true));
    cr_assert(eq(ptr, worker->results.release.tasks[0], second));
    cr_assert(not(result_batch_fill(worker, batch, false)), "one call is on its way");
}

Test(result_batch, refused_batch_goes_one_by_one_and_what_follows_together_again)
{
    struct task *first = result_of("a", VERDICT_COMPLETED);
    struct task *second = result_of("b", VERDICT_COMPLETED);
    expect_on_board(2, first);

    refused();
    cr_assert(result_batch_split(worker, batch));
    result_batch_end(batch);

    expect_on_board(1, first);
    cr_assert(not(result_batch_split(worker, batch)), "one cannot be split");
    first->row = NULL;
    task_remove(&worker->tasks, first);
    result_batch_end(batch);
    expect_on_board(1, second);
    second->row = NULL;
    task_remove(&worker->tasks, second);
    result_batch_end(batch);
    struct task *third = result_of("c", VERDICT_COMPLETED);
    result_of("d", VERDICT_COMPLETED);
    expect_on_board(2, third);
}

Test(result_batch, who_is_isolated_lets_all_others_go_first)
{
    struct task *locked = result_of("a", VERDICT_COMPLETED);
    expect_on_board(1, locked);
    refused();
    result_batch_isolate(worker, batch);
    result_batch_end(batch);
    task_isolate(&worker->tasks, locked, DUE);
    struct task *other = result_of("b", VERDICT_COMPLETED);

    expect_on_board(1, other);
    result_batch_end(batch);
    expect_on_board(1, locked);
    cr_assert(batch->is_isolated);
}

Test(result_batch, all_of_a_run_that_is_isolated_goes_together_when_its_time_has_come)
{
    struct task *first = result_of("a", VERDICT_COMPLETED);
    struct task *other = result_of("b", VERDICT_COMPLETED);
    task_isolate(&worker->tasks, first, FAR);
    task_isolate(&worker->tasks, other, FAR);
    struct task *late = result_of("a", VERDICT_COMPLETED);

    cr_assert(not(result_batch_fill(worker, batch, false)),
              "the handler that ended later waits with its run");
    cr_assert(eq(u64, late->isolated_until_ns, FAR));
    cr_assert(eq(u64, result_batch_next_ns(worker), FAR));
    task_isolate(&worker->tasks, first, DUE);
    task_isolate(&worker->tasks, late, DUE);
    expect_on_board(2, first);
    cr_assert(eq(u32, worker->tasks.isolated, 3));
}

Test(result_batch, pause_grows_with_each_refusal_up_to_five_seconds)
{
    struct task *task = result_of("a", VERDICT_COMPLETED);
    uint64_t last_ns = 0;
    batch->tasks[0] = task;
    batch->count = 1;

    for (int i = 0; i < 12; i++) {
        uint64_t before_ns = uv_hrtime();
        result_batch_isolate(worker, batch);
        uint64_t least_ns = task->isolated_until_ns - uv_hrtime();
        cr_assert(le(u64, least_ns, 5 * NS_PER_S));
        cr_assert(ge(u64, task->isolated_until_ns - before_ns, last_ns));
        last_ns = least_ns;
    }
    cr_assert(gt(u64, task->isolated_until_ns, uv_hrtime() + 4 * NS_PER_S));
}

Test(result_batch, run_that_holds_a_result_nobody_takes_is_split_as_a_whole)
{
    struct task *task;
    struct task *first = result_of("a", VERDICT_COMPLETED);
    result_of("a", VERDICT_COMPLETED);
    struct task *later = result_of("a", VERDICT_COMPLETED);
    TAILQ_FOREACH (task, &worker->tasks.tasks, link)
        task_isolate(&worker->tasks, task, task == later ? FAR : DUE);
    expect_on_board(2, first);

    refused();
    cr_assert(result_batch_split(worker, batch));
    result_batch_end(batch);

    cr_assert(eq(u32, worker->tasks.isolated, 0));
    expect_on_board(1, first);
    cr_assert(not(batch->is_isolated));
}

Test(result_batch, who_is_gone_is_isolated_no_more)
{
    struct task *task = result_of("a", VERDICT_COMPLETED);
    task_isolate(&worker->tasks, task, DUE);

    task->row = NULL;
    task_remove(&worker->tasks, task);

    cr_assert(eq(u32, worker->tasks.isolated, 0));
}
