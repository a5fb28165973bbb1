/*
 * Which results, or releases, go into the next call. results.c calls it before it sends, and when
 * the database refused a call.
 *
 * The database records a call as a whole, so one item can cost all the others: an output that no
 * column takes, or a run whose row somebody keeps locked (finish_tasks and release_tasks wait 2 s
 * for a lock). A refused batch goes again item by item. Who is refused alone, though not for what
 * it is, goes apart from then on, together with all of its run: after a pause of its own, and only
 * when nothing else waits. So a locked run costs the others 2 s now and then, however many tasks
 * it has and however long it stays locked.
 */
#include "worker/worker_private.h"

#include <string.h>

enum { FIRST_PAUSE_MS = 500, LONGEST_PAUSE_MS = 5000 };

static bool is_waiting(const struct task *task, bool releases)
{
    return task->stage == TASK_DONE && (task->verdict == VERDICT_RELEASE) == releases;
}

static bool is_same_run(const struct task *one, const struct task *other)
{
    return strcmp(one->row->run_id, other->row->run_id) == 0;
}

static void set_apart(struct worker *worker, struct task *task)
{
    uint64_t pause_ms = FIRST_PAUSE_MS;

    for (uint32_t i = 0; i < task->refusals && pause_ms < LONGEST_PAUSE_MS; i++)
        pause_ms *= 2;
    if (pause_ms > LONGEST_PAUSE_MS)
        pause_ms = LONGEST_PAUSE_MS;
    task->refusals++;
    task_set_apart(&worker->tasks, task, uv_hrtime() + pause_ms * NS_PER_MS);
}

static const struct task *apart_of_its_run(const struct worker *worker, const struct task *task)
{
    for (const struct task *other = worker->tasks.first; other != NULL; other = other->next)
        if (other->apart_until_ns != 0 && is_same_run(task, other))
            return other;
    return NULL;
}

/* A handler that ends in a run which is apart already would meet the same trouble. */
static void follow_their_runs(struct worker *worker)
{
    for (struct task *task = worker->tasks.first; task != NULL; task = task->next) {
        if (task->stage != TASK_DONE || task->apart_until_ns != 0)
            continue;
        const struct task *other = apart_of_its_run(worker, task);
        if (other == NULL)
            continue;
        task->refusals = other->refusals;
        task_set_apart(&worker->tasks, task, other->apart_until_ns);
    }
}

/* True: there was room. A text that is too large by itself still goes, alone. */
static bool board_one(struct worker *worker, struct flight *flight, struct task *task,
                      size_t *bytes)
{
    *bytes += task->text_size;
    if (flight->count > 0 && *bytes > LIMIT_DB_FINISH_BYTES)
        return false;
    task_set_stage(&worker->tasks, task, TASK_SENT);
    flight->tasks[flight->count++] = task;
    return true;
}

static void board_together(struct worker *worker, struct flight *flight, bool releases)
{
    size_t most = flight->singly > 0 ? 1 : LIMIT_BATCH;
    size_t bytes = 0;

    for (struct task *task = worker->tasks.first; task != NULL && flight->count < most;
         task = task->next)
        if (is_waiting(task, releases) && task->apart_until_ns == 0 &&
            !board_one(worker, flight, task, &bytes))
            return;
}

static void board_apart(struct worker *worker, struct flight *flight, bool releases)
{
    uint64_t now_ns = uv_hrtime();
    size_t bytes = 0;

    for (struct task *task = worker->tasks.first; task != NULL && flight->count < LIMIT_BATCH;
         task = task->next) {
        if (!is_waiting(task, releases) || task->apart_until_ns == 0 ||
            task->apart_until_ns > now_ns)
            continue;
        if (flight->count > 0 && !is_same_run(task, flight->tasks[0]))
            continue;
        if (!board_one(worker, flight, task, &bytes))
            return;
    }
}

bool boarding_fill(struct worker *worker, struct flight *flight, bool releases)
{
    if (flight->count > 0)
        return false;
    if (worker->tasks.apart > 0)
        follow_their_runs(worker);
    board_together(worker, flight, releases);
    flight->is_apart = flight->count == 0;
    if (flight->is_apart && worker->tasks.apart > 0)
        board_apart(worker, flight, releases);
    return flight->count > 0;
}

/* Those that are due wait for the call that is on its way, whose answer wakes the pump. */
uint64_t boarding_next_ns(const struct worker *worker)
{
    uint64_t now_ns = uv_hrtime();
    uint64_t next_ns = 0;

    for (const struct task *task = worker->tasks.first; task != NULL; task = task->next)
        if (task->stage == TASK_DONE && task->apart_until_ns > now_ns &&
            (next_ns == 0 || task->apart_until_ns < next_ns))
            next_ns = task->apart_until_ns;
    return next_ns;
}

void boarding_take_back(struct worker *worker, struct flight *flight)
{
    for (size_t i = 0; i < flight->count; i++)
        task_set_stage(&worker->tasks, flight->tasks[i], TASK_DONE);
}

/* Of a run that is apart no task may stay so: the others would follow it again. */
bool boarding_split(struct worker *worker, struct flight *flight)
{
    if (flight->count == 1)
        return false;
    for (struct task *task = worker->tasks.first; flight->is_apart && task != NULL;
         task = task->next)
        if (is_same_run(task, flight->tasks[0]))
            task_set_apart(&worker->tasks, task, 0);
    flight->singly += flight->count;
    flight->count = 0;
    return true;
}

void boarding_set_apart(struct worker *worker, struct flight *flight)
{
    for (size_t i = 0; i < flight->count; i++)
        set_apart(worker, flight->tasks[i]);
}

void boarding_end(struct flight *flight)
{
    if (!flight->is_apart)
        flight->singly -= flight->singly < flight->count ? flight->singly : flight->count;
    flight->count = 0;
}
