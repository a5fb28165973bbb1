/*
 * Tasks into a runner's socket, and out of it again. The payload goes from the
 * caller's memory with one sendmsg(2); what the socket does not take waits for
 * its next writable event, and only one frame of a runner ever waits so.
 */
#include "pool/pool_internal.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* A TASK frame: its parts, the texts borrowed from the task. */
struct task_frame {
    struct {
        struct frame_header header;
        struct frame_task task;
    } head;
    struct iovec iov[3];
};

_Static_assert(sizeof(struct frame_header) % _Alignof(struct frame_task) == 0,
               "header and task head are sent as one piece");

struct runner_slot *runner_slot_at(struct runner *runner, uint32_t place)
{
    return &runner->ring[(runner->ring_first + place) % CANCEL_PAGE_SLOTS];
}

struct runner_slot *runner_head(struct runner *runner)
{
    return runner->ring_count > 0 ? runner_slot_at(runner, 0) : NULL;
}

void runner_drop_head(struct runner *runner)
{
    runner->ring_first = (runner->ring_first + 1) % CANCEL_PAGE_SLOTS;
    runner->ring_count--;
    if (runner->ring_count > 0 && runner_head(runner)->task != NULL)
        runner->pool->prefetched--;
}

bool runner_can_prefetch(const struct runner *runner, const struct pool_task *task)
{
    const struct pool_config *config = &runner->pool->config;
    uint64_t tasks = runner->tasks_done + runner->ring_count;

    return runner->ring_count < CANCEL_PAGE_SLOTS && runner->unsent_task == NULL &&
           runner->unsent_copy == NULL && !runner->socket_ended && runner->residue == 0 &&
           (config->runner_max_tasks == 0 || tasks < config->runner_max_tasks) &&
           task->input_size + task->flow_input_size <= LIMIT_PREFETCH_PAYLOAD;
}

static void make_frame(struct task_frame *frame, const struct pool_task *task)
{
    struct frame_task *head = &frame->head.task;
    size_t body = sizeof *head + task->input_size + task->flow_input_size;

    memset(&frame->head, 0, sizeof frame->head);
    frame->head.header = frame_header_make(FRAME_TASK, task->number, body);
    head->step = task->step;
    head->attempt = task->attempt;
    head->max_attempts = task->max_attempts;
    head->task_index = task->task_index;
    head->msg_id = task->msg_id;
    head->timeout_ms = (uint64_t)task->timeout_s * 1000;
    head->input_size = (uint32_t)task->input_size;
    head->flow_input_size = (uint32_t)task->flow_input_size;
    memcpy(head->run_id, task->run_id, sizeof task->run_id);
    frame->iov[0] = (struct iovec){&frame->head, sizeof frame->head};
    frame->iov[1] = (struct iovec){(void *)(uintptr_t)task->input, task->input_size};
    frame->iov[2] = (struct iovec){(void *)(uintptr_t)task->flow_input, task->flow_input_size};
}

/* Drops `offset` bytes from the front; what is left in bytes. */
static size_t skip_bytes(struct iovec *iov, size_t count, size_t offset)
{
    size_t left = 0;

    for (size_t i = 0; i < count; i++) {
        size_t skipped = offset < iov[i].iov_len ? offset : iov[i].iov_len;

        iov[i].iov_base = (char *)iov[i].iov_base + skipped;
        iov[i].iov_len -= skipped;
        offset -= skipped;
        left += iov[i].iov_len;
    }
    return left;
}

/* Bytes that the socket took; 0 also when the runner is gone: its exit is on
 * the way and settles the task. */
static size_t send_some(const struct runner *runner, struct iovec *iov, size_t count)
{
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = count};
    ssize_t sent;

    do {
        sent = sendmsg(runner->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? 0 : (size_t)sent;
}

static void send_from(struct runner *runner, struct pool_task *task, size_t offset)
{
    struct task_frame frame;
    size_t left;

    make_frame(&frame, task);
    left = skip_bytes(frame.iov, 3, offset);
    left -= send_some(runner, frame.iov, 3);
    runner->unsent_task = left > 0 ? task : NULL;
    runner->unsent_offset = sizeof frame.head + task->input_size + task->flow_input_size - left;
}

void runner_send_task(struct runner *runner, struct pool_task *task)
{
    struct runner_slot *slot;

    runner->ring_count++;
    slot = runner_slot_at(runner, runner->ring_count - 1);
    *slot = (struct runner_slot){.number = ++runner->last_number, .task = task};
    if (runner->ring_count > 1)
        runner->pool->prefetched++;
    task->runner = runner;
    task->number = slot->number;
    task->state = TASK_SENT;
    if (runner->state == RUNNER_IDLE) {
        runner_set_state(runner, RUNNER_BUSY);
        runner_expect_start(runner);
    }
    send_from(runner, task, 0);
    if (runner->unsent_task != NULL)
        runner_watch_socket(runner);
}

static void send_copy(struct runner *runner)
{
    struct iovec iov = {runner->unsent_copy + runner->unsent_offset,
                        runner->unsent_copy_size - runner->unsent_offset};

    runner->unsent_offset += send_some(runner, &iov, 1);
    if (runner->unsent_offset < runner->unsent_copy_size)
        return;
    free(runner->unsent_copy);
    runner->unsent_copy = NULL;
}

void runner_send_rest(struct runner *runner)
{
    if (runner->unsent_task != NULL)
        send_from(runner, runner->unsent_task, runner->unsent_offset);
    else if (runner->unsent_copy != NULL)
        send_copy(runner);
    runner_watch_socket(runner);
}

void runner_watch_socket(struct runner *runner)
{
    int events = 0;

    if (!runner->socket_ended)
        events |= UV_READABLE;
    if (runner->unsent_task != NULL || runner->unsent_copy != NULL)
        events |= UV_WRITABLE;
    if (events != 0 && runner->state < RUNNER_EXITED && !runner->socket_ended)
        (void)uv_poll_start(&runner->socket_poll, events, runner_on_socket);
    else
        (void)uv_poll_stop(&runner->socket_poll);
}

/* The task's memory goes back to the caller while half of it is in the socket:
 * keep the rest, the runner must see a whole frame. */
static bool detach_unsent(struct runner *runner)
{
    struct task_frame frame;
    char *to;
    size_t left;

    make_frame(&frame, runner->unsent_task);
    left = skip_bytes(frame.iov, 3, runner->unsent_offset);
    to = malloc(left + 1); /* never 0 */
    if (to == NULL)
        return false;
    runner->unsent_copy = to;
    runner->unsent_copy_size = left;
    runner->unsent_offset = 0;
    runner->unsent_task = NULL;
    for (size_t i = 0; i < 3; i++) {
        if (frame.iov[i].iov_len > 0)
            memcpy(to, frame.iov[i].iov_base, frame.iov[i].iov_len);
        to += frame.iov[i].iov_len;
    }
    return true;
}

enum started { STARTED_NOT, STARTED_YES, STARTED_UNKNOWN };

/* Is STARTED of that task on its way to us? Looks without taking: this may be
 * called while a callback still reads the last frame. */
static enum started look_for_started(struct runner *runner, uint64_t number)
{
    char *seen = runner->pool->scratch;
    ssize_t size;

    do {
        size = recv(runner->socket, seen, LIMIT_POOL_SCRATCH, MSG_PEEK | MSG_DONTWAIT);
    } while (size < 0 && errno == EINTR);
    if (size < 0)
        size = 0;
    if (frame_reader_has(&runner->reader, seen, (size_t)size, FRAME_STARTED, number))
        return STARTED_YES;
    return size == LIMIT_POOL_SCRATCH ? STARTED_UNKNOWN : STARTED_NOT;
}

/* Marks the task in the cancel page; see there why the order decides. */
static enum started set_skip(struct runner *runner, uint64_t number)
{
    /* Without this look a task that runs already would be recalled for nothing. */
    if (look_for_started(runner, number) != STARTED_NOT)
        return STARTED_YES;
    atomic_store_explicit(&runner->page->recalled[number % CANCEL_PAGE_SLOTS], number,
                          memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst);
    return look_for_started(runner, number) == STARTED_NOT ? STARTED_NOT : STARTED_UNKNOWN;
}

static struct runner_slot *find_slot(struct runner *runner, const struct pool_task *task,
                                     uint32_t *place)
{
    for (*place = 0; *place < runner->ring_count; (*place)++)
        if (runner_slot_at(runner, *place)->task == task)
            return runner_slot_at(runner, *place);
    return NULL;
}

bool runner_recall(struct runner *runner, struct pool_task *task)
{
    uint32_t place;
    struct runner_slot *slot = find_slot(runner, task, &place);
    enum started started;

    if (slot == NULL || task->state != TASK_SENT || !runner_is_alive(runner))
        return false;
    started = set_skip(runner, slot->number);
    if (started == STARTED_UNKNOWN)
        task->state = TASK_RECALLING;
    if (started != STARTED_NOT)
        return false;
    if (runner->unsent_task == task && !detach_unsent(runner)) {
        task->state = TASK_RECALLING;
        return false;
    }
    slot->task = NULL;
    task->runner = NULL;
    if (place > 0)
        runner->pool->prefetched--;
    return true;
}

void runner_abandon_waiting(struct runner *runner)
{
    for (uint32_t place = runner->ring_count; place-- > 0;) {
        struct runner_slot *slot = runner_slot_at(runner, place);
        struct pool_task *task = slot->task;

        if (task == NULL)
            continue;
        /* Recalled already, or its frame cannot be detached: its answer settles it. */
        if (task->state == TASK_RECALLING ||
            (runner->unsent_task == task && !detach_unsent(runner))) {
            task->state = TASK_RECALLING;
            continue;
        }
        slot->task = NULL;
        task->runner = NULL;
        if (place > 0)
            runner->pool->prefetched--;
        if (task->cancel_why != 0)
            pool_return_task(runner->pool, task);
        else
            pool_enqueue(runner->pool, task, true);
    }
}
