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
static struct flight *flight;
static struct db_claim_row rows[8];

static void setup(void)
{
    worker = calloc(1, sizeof *worker);
    flight = &worker->results.finish;
}

static void teardown(void)
{
    while (worker->tasks.first != NULL) {
        worker->tasks.first->row = NULL;
        task_remove(&worker->tasks, worker->tasks.first);
    }
    free(worker);
}

TestSuite(boarding, .init = setup, .fini = teardown);

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
    cr_assert(boarding_fill(worker, flight, false));
    cr_assert(eq(sz, flight->count, count));
    cr_assert(eq(ptr, flight->tasks[0], (void *)first));
}

static void refused(void)
{
    boarding_take_back(worker, flight);
}

Test(boarding, results_go_together_and_releases_by_themselves)
{
    struct task *first = result_of("a", VERDICT_COMPLETED);
    struct task *second = result_of("b", VERDICT_RELEASE);
    result_of("b", VERDICT_FAILED);

    expect_on_board(2, first);

    cr_assert(boarding_fill(worker, &worker->results.release, true));
    cr_assert(eq(ptr, worker->results.release.tasks[0], second));
    cr_assert(not(boarding_fill(worker, flight, false)), "one call is on its way");
}

Test(boarding, refused_batch_goes_one_by_one_and_what_follows_together_again)
{
    struct task *first = result_of("a", VERDICT_COMPLETED);
    struct task *second = result_of("b", VERDICT_COMPLETED);
    expect_on_board(2, first);

    refused();
    cr_assert(boarding_split(worker, flight));
    boarding_end(flight);

    expect_on_board(1, first);
    cr_assert(not(boarding_split(worker, flight)), "one cannot be split");
    first->row = NULL;
    task_remove(&worker->tasks, first);
    boarding_end(flight);
    expect_on_board(1, second);
    second->row = NULL;
    task_remove(&worker->tasks, second);
    boarding_end(flight);
    struct task *third = result_of("c", VERDICT_COMPLETED);
    result_of("d", VERDICT_COMPLETED);
    expect_on_board(2, third);
}

Test(boarding, who_is_apart_lets_all_others_go_first)
{
    struct task *locked = result_of("a", VERDICT_COMPLETED);
    expect_on_board(1, locked);
    refused();
    boarding_set_apart(worker, flight);
    boarding_end(flight);
    task_set_apart(&worker->tasks, locked, DUE);
    struct task *other = result_of("b", VERDICT_COMPLETED);

    expect_on_board(1, other);
    boarding_end(flight);
    expect_on_board(1, locked);
    cr_assert(flight->is_apart);
}

Test(boarding, all_of_a_run_that_is_apart_goes_together_when_its_time_has_come)
{
    struct task *first = result_of("a", VERDICT_COMPLETED);
    struct task *other = result_of("b", VERDICT_COMPLETED);
    task_set_apart(&worker->tasks, first, FAR);
    task_set_apart(&worker->tasks, other, FAR);
    struct task *late = result_of("a", VERDICT_COMPLETED);

    cr_assert(not(boarding_fill(worker, flight, false)),
              "the handler that ended later waits with its run");
    cr_assert(eq(u64, late->apart_until_ns, FAR));
    cr_assert(eq(u64, boarding_next_ns(worker), FAR));
    task_set_apart(&worker->tasks, first, DUE);
    task_set_apart(&worker->tasks, late, DUE);
    expect_on_board(2, first);
    cr_assert(eq(u32, worker->tasks.apart, 3));
}

Test(boarding, pause_grows_with_each_refusal_up_to_five_seconds)
{
    struct task *task = result_of("a", VERDICT_COMPLETED);
    uint64_t last_ns = 0;
    flight->tasks[0] = task;
    flight->count = 1;

    for (int i = 0; i < 12; i++) {
        uint64_t before_ns = uv_hrtime();
        boarding_set_apart(worker, flight);
        uint64_t least_ns = task->apart_until_ns - uv_hrtime();
        cr_assert(le(u64, least_ns, 5 * NS_PER_S));
        cr_assert(ge(u64, task->apart_until_ns - before_ns, last_ns));
        last_ns = least_ns;
    }
    cr_assert(gt(u64, task->apart_until_ns, uv_hrtime() + 4 * NS_PER_S));
}

Test(boarding, run_that_holds_a_result_nobody_takes_is_split_as_a_whole)
{
    struct task *first = result_of("a", VERDICT_COMPLETED);
    result_of("a", VERDICT_COMPLETED);
    struct task *later = result_of("a", VERDICT_COMPLETED);
    for (struct task *task = worker->tasks.first; task != NULL; task = task->next)
        task_set_apart(&worker->tasks, task, task == later ? FAR : DUE);
    expect_on_board(2, first);

    refused();
    cr_assert(boarding_split(worker, flight));
    boarding_end(flight);

    cr_assert(eq(u32, worker->tasks.apart, 0));
    expect_on_board(1, first);
    cr_assert(not(flight->is_apart));
}

Test(boarding, who_is_gone_is_apart_no_more)
{
    struct task *task = result_of("a", VERDICT_COMPLETED);
    task_set_apart(&worker->tasks, task, DUE);

    task->row = NULL;
    task_remove(&worker->tasks, task);

    cr_assert(eq(u32, worker->tasks.apart, 0));
}
