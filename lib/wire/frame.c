/*
 * Frames: the checks of everything that comes from the other end, and sending
 * without a copy. Used by the host and by pgflow-runner.
 */
#include "wire/frame.h"

#include "base/fd_wait.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { READER_CAPACITY = 64 * 1024, READER_KEEP = 1024 * 1024 };

size_t frame_max_body(size_t max_payload)
{
    return LIMIT_FRAME_OVERHEAD + 2 * max_payload;
}

struct frame_header frame_header_make(enum frame_type type, uint64_t number, size_t size)
{
    return (struct frame_header){
        .version = FRAME_VERSION, .type = (uint16_t)type, .size = (uint32_t)size, .number = number};
}

void frame_reader_init(struct frame_reader *reader, size_t max_body)
{
    *reader = (struct frame_reader){.max_body = max_body};
}

void frame_reader_finish(struct frame_reader *reader)
{
    free(reader->data);
    *reader = (struct frame_reader){.max_body = reader->max_body};
}

/* The header at the front, when all of it is here. */
static bool peek_header(const struct frame_reader *reader, struct frame_header *header)
{
    if (reader->end - reader->begin < sizeof *header)
        return false;
    memcpy(header, reader->data + reader->begin, sizeof *header);
    return true;
}

/* Bytes that the frame at the front needs in all. A header that is over the
 * limit asks for nothing: frame_reader_next refuses it. */
static size_t wanted_size(const struct frame_reader *reader)
{
    struct frame_header header;

    if (!peek_header(reader, &header) || header.size > reader->max_body)
        return sizeof header;
    return sizeof header + header.size;
}

static bool move_to(struct frame_reader *reader, size_t capacity)
{
    size_t size = reader->end - reader->begin;
    char *data = malloc(capacity);

    if (data == NULL)
        return false;
    if (size > 0)
        memcpy(data, reader->data + reader->begin, size);
    free(reader->data);
    reader->data = data;
    reader->begin = 0;
    reader->end = size;
    reader->capacity = capacity;
    return true;
}

/* Makes room behind `end` for the rest of the frame at the front. */
static bool make_room(struct frame_reader *reader, size_t wanted)
{
    if (reader->begin == reader->end) {
        reader->begin = reader->end = 0;
        if (reader->capacity > READER_KEEP && wanted < READER_CAPACITY)
            frame_reader_finish(reader);
    }
    if (reader->capacity < wanted || reader->capacity == 0)
        return move_to(reader, wanted < READER_CAPACITY ? READER_CAPACITY : wanted);
    if (reader->begin > 0 &&
        (reader->capacity - reader->begin < wanted || reader->end == reader->capacity)) {
        memmove(reader->data, reader->data + reader->begin, reader->end - reader->begin);
        reader->end -= reader->begin;
        reader->begin = 0;
    }
    return true;
}

long frame_reader_fill(struct frame_reader *reader, int fd)
{
    ssize_t got;

    if (!make_room(reader, wanted_size(reader)))
        return -ENOMEM;
    do {
        got = recv(fd, reader->data + reader->end, reader->capacity - reader->end, 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    reader->end += (size_t)got;
    return (long)got;
}

bool frame_reader_feed(struct frame_reader *reader, const void *data, size_t size)
{
    if (!make_room(reader, reader->end - reader->begin + size))
        return false;
    memcpy(reader->data + reader->end, data, size);
    reader->end += size;
    return true;
}

/* Copies `size` bytes at `offset` of two pieces that follow each other. */
static bool copy_across(const struct frame_reader *reader, const char *more, size_t more_size,
                        size_t offset, void *out, size_t size)
{
    size_t here = reader->end - reader->begin;
    size_t from_here = 0;

    if (offset > here + more_size || here + more_size - offset < size)
        return false;
    if (offset < here) {
        from_here = here - offset < size ? here - offset : size;
        memcpy(out, reader->data + reader->begin + offset, from_here);
    }
    if (from_here < size)
        memcpy((char *)out + from_here, more + (offset + from_here - here), size - from_here);
    return true;
}

bool frame_reader_has(const struct frame_reader *reader, const char *more, size_t more_size,
                      enum frame_type type, uint64_t number)
{
    struct frame_header header;
    size_t offset = 0;

    while (copy_across(reader, more, more_size, offset, &header, sizeof header)) {
        if (header.version != FRAME_VERSION)
            return false;
        if (header.type == type && header.number == number)
            return true;
        offset += sizeof header + header.size;
    }
    return false;
}

static bool has_text(size_t size, size_t fixed, uint64_t text)
{
    return size >= fixed && size - fixed == text;
}

static bool is_task_whole(const struct frame *frame)
{
    struct frame_task task;

    if (frame->size < sizeof task)
        return false;
    memcpy(&task, frame->body, sizeof task);
    return has_text(frame->size, sizeof task, (uint64_t)task.input_size + task.flow_input_size) &&
           memchr(task.run_id, '\0', sizeof task.run_id) != NULL;
}

static bool is_result_whole(const struct frame *frame)
{
    struct frame_result result;

    if (frame->size < sizeof result)
        return false;
    memcpy(&result, frame->body, sizeof result);
    return has_text(frame->size, sizeof result,
                    (uint64_t)result.output_size + 1 + result.error_size + 1) &&
           frame->body[sizeof result + result.output_size] == '\0' &&
           frame->body[frame->size - 1] == '\0' && result.error_size < LIMIT_ERROR_TEXT;
}

/* Does the body hold what a frame of this type must? NULL: yes. */
static const char *find_fault(const struct frame *frame)
{
    bool whole;

    switch (frame->type) {
    case FRAME_TASK:
        whole = is_task_whole(frame);
        break;
    case FRAME_RESULT:
        whole = is_result_whole(frame);
        break;
    case FRAME_STOP:
    case FRAME_STARTED:
    case FRAME_NOT_RUN:
        whole = frame->size == 0;
        break;
    case FRAME_READY:
        whole = frame->size == sizeof(struct frame_ready);
        break;
    case FRAME_CRASH:
        whole = frame->size == sizeof(struct frame_crash);
        break;
    case FRAME_LOG:
        whole = frame->size >= sizeof(struct frame_log) && frame->size <= LIMIT_FRAME_OVERHEAD;
        break;
    case FRAME_FAILED:
        whole = frame->size <= LIMIT_FRAME_OVERHEAD;
        break;
    default:
        return "unknown type";
    }
    return whole ? NULL : "wrong size";
}

enum frame_next frame_reader_next(struct frame_reader *reader, struct frame *frame,
                                  struct error *error)
{
    struct frame_header header;
    const char *fault;

    if (!peek_header(reader, &header))
        return FRAME_NEXT_NONE;
    *frame = (struct frame){
        .type = (enum frame_type)header.type, .number = header.number, .size = header.size};
    if (header.version != FRAME_VERSION) {
        (void)error_set(error, ERROR_INTERNAL, "frame of version %u, expected %d", header.version,
                        FRAME_VERSION);
        return FRAME_NEXT_BROKEN;
    }
    if (header.size > reader->max_body) {
        (void)error_set(error, ERROR_INTERNAL, "frame of %u bytes, the limit is %zu", header.size,
                        reader->max_body);
        return FRAME_NEXT_BROKEN;
    }
    if (reader->end - reader->begin < sizeof header + header.size)
        return FRAME_NEXT_NONE;
    frame->body = reader->data + reader->begin + sizeof header;
    fault = find_fault(frame);
    if (fault != NULL) {
        (void)error_set(error, ERROR_INTERNAL, "frame of type %u with %u bytes: %s", header.type,
                        header.size, fault);
        return FRAME_NEXT_BROKEN;
    }
    reader->begin += sizeof header + header.size;
    return FRAME_NEXT_OK;
}

struct frame_task frame_get_task(const struct frame *frame, const char **input,
                                 const char **flow_input)
{
    struct frame_task task;

    memcpy(&task, frame->body, sizeof task);
    *input = frame->body + sizeof task;
    *flow_input = *input + task.input_size;
    return task;
}

struct frame_result frame_get_result(const struct frame *frame, const char **output,
                                     const char **error_text)
{
    struct frame_result result;

    memcpy(&result, frame->body, sizeof result);
    *output = frame->body + sizeof result;
    *error_text = *output + result.output_size + 1;
    return result;
}

struct frame_ready frame_get_ready(const struct frame *frame)
{
    struct frame_ready ready;

    memcpy(&ready, frame->body, sizeof ready);
    return ready;
}

struct frame_crash frame_get_crash(const struct frame *frame)
{
    struct frame_crash crash;

    memcpy(&crash, frame->body, sizeof crash);
    return crash;
}

const char *frame_get_text(const struct frame *frame, int32_t *level, size_t *size)
{
    struct frame_log log = {0};
    size_t fixed = frame->type == FRAME_LOG ? sizeof log : 0;

    if (fixed > 0)
        memcpy(&log, frame->body, sizeof log);
    if (level != NULL)
        *level = log.level;
    *size = frame->size - fixed;
    return frame->body + fixed;
}

/* Drops `sent` bytes from the front of the vector. */
static void advance(struct iovec **iov, size_t *count, size_t sent)
{
    while (*count > 0 && sent >= (*iov)->iov_len) {
        sent -= (*iov)->iov_len;
        (*iov)++;
        (*count)--;
    }
    if (*count > 0) {
        (*iov)->iov_base = (char *)(*iov)->iov_base + sent;
        (*iov)->iov_len -= sent;
    }
}

int frame_send(int fd, struct iovec *iov, size_t count)
{
    advance(&iov, &count, 0);
    while (count > 0) {
        struct msghdr message = {.msg_iov = iov, .msg_iovlen = count};
        ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN) {
            fd_wait(fd, POLLOUT);
            continue;
        }
        if (sent < 0)
            return -errno;
        advance(&iov, &count, (size_t)sent);
    }
    return 0;
}
