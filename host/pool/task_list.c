/*
 * A list of tasks, through a field of the task itself, with its length.
 */
#include "pool/pool_internal.h"

void task_list_init(struct task_list *list)
{
    TAILQ_INIT(&list->tasks);
    list->count = 0;
}

struct pool_task *task_list_first(const struct task_list *list)
{
    return TAILQ_FIRST(&list->tasks);
}

void task_list_append(struct task_list *list, struct pool_task *task)
{
    TAILQ_INSERT_TAIL(&list->tasks, task, link);
    list->count++;
}

void task_list_prepend(struct task_list *list, struct pool_task *task)
{
    TAILQ_INSERT_HEAD(&list->tasks, task, link);
    list->count++;
}

void task_list_remove(struct task_list *list, struct pool_task *task)
{
    TAILQ_REMOVE(&list->tasks, task, link);
    list->count--;
}
