/*
 * A doubly linked list of tasks, through the fields of the task itself.
 */
#include "pool/pool_internal.h"

void task_list_append(struct task_list *list, struct pool_task *task)
{
    task->next = NULL;
    task->previous = list->last;
    if (list->last != NULL)
        list->last->next = task;
    else
        list->first = task;
    list->last = task;
    list->count++;
}

void task_list_prepend(struct task_list *list, struct pool_task *task)
{
    task->previous = NULL;
    task->next = list->first;
    if (list->first != NULL)
        list->first->previous = task;
    else
        list->last = task;
    list->first = task;
    list->count++;
}

void task_list_remove(struct task_list *list, struct pool_task *task)
{
    if (task->previous != NULL)
        task->previous->next = task->next;
    else
        list->first = task->next;
    if (task->next != NULL)
        task->next->previous = task->previous;
    else
        list->last = task->previous;
    task->next = task->previous = NULL;
    list->count--;
}
