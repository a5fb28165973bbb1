#include "worker/task.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

static struct task_table table;

static void setup(void)
{
    task_table_init(&table);
}

static void teardown(void)
{
    while (TAILQ_FIRST(&table.tasks) != NULL)
        task_remove(&table, TAILQ_FIRST(&table.tasks));
}

TestSuite(task, .init = setup, .fini = teardown);

Test(task, is_held_from_claim_to_acknowledgement)
{
    struct task *task = task_add(&table, NULL, NULL, 1);
    cr_assert(eq(u32, task_count(&table), 1));

    task_set_stage(&table, task, STAGE_RUNNING);
    task_decide(&table, task, VERDICT_COMPLETED, "{}", 2);
    task_set_stage(&table, task, STAGE_SENT);
    cr_assert(eq(u32, task_count(&table), 1));
    cr_assert(eq(u32, task_count_in_pool(&table), 0));
    cr_assert(eq(u32, task_count_unreported(&table), 1));

    task_remove(&table, task);
    cr_assert(eq(u32, task_count(&table), 0));
    cr_assert(eq(u64, table.results_made, 1));
    cr_assert(eq(u64, table.results_acknowledged, 1));
}

Test(task, counts_a_result_once_when_it_is_sent_again)
{
    struct task *task = task_add(&table, NULL, NULL, 1);

    task_decide(&table, task, VERDICT_COMPLETED, "1", 1);
    task_set_stage(&table, task, STAGE_SENT);
    task_set_stage(&table, task, STAGE_DONE);
    task_decide(&table, task, VERDICT_FAILED, "refused", 7);

    cr_assert(eq(u64, table.results_made, 1));
    cr_assert(eq(sz, table.result_bytes, 7));
}

Test(task, copies_the_result_and_accounts_for_its_bytes)
{
    char output[] = "[1, 2]";
    struct task *task = task_add(&table, NULL, NULL, 1);

    task_decide(&table, task, VERDICT_COMPLETED, output, strlen(output));
    memset(output, 'x', strlen(output));

    cr_assert(eq(str, task->text, "[1, 2]"));
    cr_assert(eq(sz, table.result_bytes, 6));
    task_remove(&table, task);
    cr_assert(eq(sz, table.result_bytes, 0));
}

Test(task, table_keeps_the_order_of_claims)
{
    struct task *first = task_add(&table, NULL, NULL, 1);
    struct task *second = task_add(&table, NULL, NULL, 2);
    struct task *third = task_add(&table, NULL, NULL, 3);

    task_remove(&table, second);

    cr_assert(eq(ptr, TAILQ_FIRST(&table.tasks), first));
    cr_assert(eq(ptr, TAILQ_NEXT(first, link), third));
    cr_assert(eq(ptr, TAILQ_PREV(third, task_queue, link), first));
    cr_assert(eq(ptr, TAILQ_LAST(&table.tasks, task_queue), third));
}

Test(task, released_before_it_began_is_no_result_in_the_pool)
{
    struct task *task = task_add(&table, NULL, NULL, 1);

    task_decide(&table, task, VERDICT_RELEASE, NULL, 0);

    cr_assert(eq(u32, task_count_in_pool(&table), 0));
    cr_assert(not(task->started));
}
