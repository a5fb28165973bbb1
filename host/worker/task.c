#include "worker/task.h"

#include <stdlib.h>
#include <string.h>

#include "db/calls.h"

void task_table_init(struct task_table *table)
{
    *table = (struct task_table){.isolated = 0};
    TAILQ_INIT(&table->tasks);
}

struct task *task_add(struct task_table *table, struct db_claim_row *row,
                      const struct deployment_step *step, uint64_t claimed_ns)
{
    struct task *task = calloc(1, sizeof *task);

    if (task == NULL)
        return NULL;
    task->row = row;
    task->step = step;
    task->claimed_ns = claimed_ns;
    task->retry_after_s = -1;
    task->pool.data = task;
    TAILQ_INSERT_TAIL(&table->tasks, task, link);
    table->count[STAGE_WAITING]++;
    return task;
}

static void drop_text(struct task_table *table, struct task *task)
{
    table->result_bytes -= task->text_size;
    free(task->text);
    task->text = NULL;
    task->text_size = 0;
}

void task_remove(struct task_table *table, struct task *task)
{
    if (task->stage == STAGE_DONE || task->stage == STAGE_SENT)
        table->results_acknowledged++;
    task_isolate(table, task, 0);
    drop_text(table, task);
    table->count[task->stage]--;
    TAILQ_REMOVE(&table->tasks, task, link);
    db_claim_row_drop(task->row);
    free(task);
}

void task_set_stage(struct task_table *table, struct task *task, enum task_stage stage)
{
    table->count[task->stage]--;
    table->count[stage]++;
    task->stage = stage;
}

void task_isolate(struct task_table *table, struct task *task, uint64_t until_ns)
{
    table->isolated -= task->isolated_until_ns != 0;
    table->isolated += until_ns != 0;
    task->isolated_until_ns = until_ns;
}

void task_decide(struct task_table *table, struct task *task, enum task_verdict verdict,
                 const char *text, size_t size)
{
    drop_text(table, task);
    task->verdict = verdict;
    if (text != NULL) {
        task->text = malloc(size + 1);
        if (task->text != NULL) {
            memcpy(task->text, text, size);
            task->text[size] = '\0';
            task->text_size = size;
            table->result_bytes += size;
        } else if (verdict == VERDICT_COMPLETED) {
            task->verdict = VERDICT_FAILED; /* results.c names the reason when there is no text */
        }
    }
    if (task->stage == STAGE_WAITING || task->stage == STAGE_RUNNING)
        table->results_made++;
    task_set_stage(table, task, STAGE_DONE);
}
