/*
 * Which results, or releases, go into the next call. results.c calls it before it sends, and when
 * the database refused a call.
 *
 * The database records a call as a whole, so one item can cost all the others: an output that no
 * column takes, or a run whose row somebody keeps locked (finish_tasks and release_tasks wait 2 s
 * for a lock). A refused batch goes again item by item. Who is refused alone, though not for what
 * it is, is isolated from then on, together with all of its run: after a pause of its own, and only
 * when nothing else waits. So a locked run costs the others 2 s now and then, however many tasks
 * it has and however long it stays locked.
 */
#include "worker/worker_private.h"

#include <string.h>

enum { FIRST_PAUSE_MS = 500, LONGEST_PAUSE_MS = 5000 };

static bool is_waiting(const struct task *task, bool releases)
{
    return task->stage == STAGE_DONE && (task->verdict == VERDICT_RELEASE) == releases;
}

static bool is_same_run(const struct task *one, const struct task *other)
{
    return strcmp(one->row->run_id, other->row->run_id) == 0;
}

static void isolate(struct worker *worker, struct task *task)
{
    uint32_t pause_ms = clock_backoff_ms(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, task->refusals++);

    task_isolate(&worker->tasks, task, uv_hrtime() + pause_ms * NS_PER_MS);
}

static const struct task *isolated_of_its_run(const struct worker *worker, const struct task *task)
{
    const struct task *other;

    TAILQ_FOREACH (other, &worker->tasks.tasks, link)
        if (other->isolated_until_ns != 0 && is_same_run(task, other))
            return other;
    return NULL;
}

/* A handler that ends in a run that is isolated already would meet the same trouble. */
static void follow_their_runs(struct worker *worker)
{
    struct task *task;

    TAILQ_FOREACH (task, &worker->tasks.tasks, link) {
        if (task->stage != STAGE_DONE || task->isolated_until_ns != 0)
            continue;
        const struct task *other = isolated_of_its_run(worker, task);
        if (other == NULL)
            continue;
        task->refusals = other->refusals;
        task_isolate(&worker->tasks, task, other->isolated_until_ns);
    }
}

/* True: there was room. A text that is too large by itself still goes, alone. */
static bool add_one(struct worker *worker, struct result_batch *batch, struct task *task,
                    size_t *bytes)
{
    *bytes += task->text_size;
    if (batch->count > 0 && *bytes > LIMIT_DB_FINISH_BYTES)
        return false;
    task_set_stage(&worker->tasks, task, STAGE_SENT);
    batch->tasks[batch->count++] = task;
    return true;
}

static void fill_together(struct worker *worker, struct result_batch *batch, bool releases)
{
    size_t most = batch->singly > 0 ? 1 : LIMIT_BATCH;
    size_t bytes = 0;

    for (struct task *task = TAILQ_FIRST(&worker->tasks.tasks); task != NULL && batch->count < most;
         task = TAILQ_NEXT(task, link))
        if (is_waiting(task, releases) && task->isolated_until_ns == 0 &&
            !add_one(worker, batch, task, &bytes))
            return;
}

static void fill_isolated(struct worker *worker, struct result_batch *batch, bool releases)
{
    uint64_t now_ns = uv_hrtime();
    size_t bytes = 0;

    for (struct task *task = TAILQ_FIRST(&worker->tasks.tasks);
         task != NULL && batch->count < LIMIT_BATCH; task = TAILQ_NEXT(task, link)) {
        if (!is_waiting(task, releases) || task->isolated_until_ns == 0 ||
            task->isolated_until_ns > now_ns)
            continue;
        if (batch->count > 0 && !is_same_run(task, batch->tasks[0]))
            continue;
        if (!add_one(worker, batch, task, &bytes))
            return;
    }
}

bool result_batch_fill(struct worker *worker, struct result_batch *batch, bool releases)
{
    if (batch->count > 0)
        return false;
    if (worker->tasks.isolated > 0)
        follow_their_runs(worker);
    fill_together(worker, batch, releases);
    batch->is_isolated = batch->count == 0;
    if (batch->is_isolated && worker->tasks.isolated > 0)
        fill_isolated(worker, batch, releases);
    return batch->count > 0;
}

/* Those that are due wait for the call that is on its way, whose answer wakes the pump. */
uint64_t result_batch_next_ns(const struct worker *worker)
{
    const struct task *task;
    uint64_t now_ns = uv_hrtime();
    uint64_t next_ns = 0;

    TAILQ_FOREACH (task, &worker->tasks.tasks, link)
        if (task->stage == STAGE_DONE && task->isolated_until_ns > now_ns &&
            (next_ns == 0 || task->isolated_until_ns < next_ns))
            next_ns = task->isolated_until_ns;
    return next_ns;
}

void result_batch_requeue(struct worker *worker, struct result_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        task_set_stage(&worker->tasks, batch->tasks[i], STAGE_DONE);
}

/* No task of an isolated run may stay isolated: the others would follow it again. */
bool result_batch_split(struct worker *worker, struct result_batch *batch)
{
    if (batch->count == 1)
        return false;
    for (struct task *task = TAILQ_FIRST(&worker->tasks.tasks); batch->is_isolated && task != NULL;
         task = TAILQ_NEXT(task, link))
        if (is_same_run(task, batch->tasks[0]))
            task_isolate(&worker->tasks, task, 0);
    batch->singly += batch->count;
    batch->count = 0;
    return true;
}

void result_batch_isolate(struct worker *worker, struct result_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        isolate(worker, batch->tasks[i]);
}

void result_batch_end(struct result_batch *batch)
{
    if (!batch->is_isolated)
        batch->singly -= batch->singly < batch->count ? batch->singly : batch->count;
    batch->count = 0;
}
