/*
 * stdout and stderr of a runner, cut into lines and given to the task that
 * printed them.
 *
 * The runner puts a marker (struct frame_marker) behind the output of each task
 * that printed, and says so in the answer. A mark read before its answer stops
 * the parsing there: what follows belongs to a task that we have not heard of
 * yet. The answer lets it go on.
 *
 * A runner does not wait for us: between a look at its socket and a read of its
 * pipe it may end one task and begin another. So what was read is parsed only
 * after the answers were read once more: runner_read_answers().
 */
#include "pool/pool_internal.h"

#include "base/text.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum {
    READ_AT_ONCE = 16 * LIMIT_KIB,
    READS_IN_A_ROW = 64,
    /* The largest pipe there is, unless root made it larger: what came before an
     * answer is within so much of it. */
    BEFORE_ANSWER_MAX = LIMIT_MIB,
    PENDING_MAX = LIMIT_LOG_LINE + (int)sizeof(struct frame_marker) + READ_AT_ONCE
};

void runner_output_init(struct runner *runner, enum pool_stream stream, int fd)
{
    struct runner_output *output = &runner->out[stream];

    output->runner = runner;
    output->stream = stream;
    output->fd = fd;
    buf_init(&output->pending, PENDING_MAX);
}

void runner_output_finish(struct runner_output *output)
{
    buf_free(&output->pending);
}

static struct pool_task *current_task(struct runner *runner)
{
    struct runner_slot *head = runner_head(runner);

    return head != NULL && head->started ? head->task : NULL;
}

static void hand_line(struct runner *runner, const struct pool_task *task, enum pool_stream stream,
                      int level, const char *text, size_t size)
{
    const struct pool_config *config = &runner->pool->config;
    char clean[LIMIT_LOG_LINE];
    struct pool_line line = {.module = runner->module,
                             .task = task,
                             .pid = runner->pid,
                             .stream = stream,
                             .level = level,
                             .text = clean};

    if (config->callbacks.on_line == NULL)
        return;
    line.size = text_clean(clean, sizeof clean, text, size);
    config->callbacks.on_line(config->context, &line);
}

void runner_output_log(struct runner *runner, uint64_t number, int level, const char *text,
                       size_t size)
{
    struct runner_slot *head = runner_head(runner);
    bool known = head != NULL && head->number == number;

    hand_line(runner, known ? head->task : NULL, POOL_LOG, level, text, size);
}

/* The last bytes, for the error of a task that dies. */
static void keep_tail(struct runner *runner, const char *text, size_t size)
{
    size_t kept = runner->stderr_tail_size;

    if (size >= sizeof runner->stderr_tail) {
        text += size - sizeof runner->stderr_tail;
        size = sizeof runner->stderr_tail;
        kept = 0;
    } else if (kept + size > sizeof runner->stderr_tail) {
        size_t drop = kept + size - sizeof runner->stderr_tail;

        memmove(runner->stderr_tail, runner->stderr_tail + drop, kept - drop);
        kept -= drop;
    }
    if (size > 0)
        memcpy(runner->stderr_tail + kept, text, size);
    runner->stderr_tail_size = kept + size;
}

void runner_output_begin_task(struct runner *runner)
{
    runner->stderr_tail_size = 0;
    runner->out[POOL_STDOUT].task_bytes = 0;
    runner->out[POOL_STDERR].task_bytes = 0;
}

/* One line, or the part of it that came before it got too long. */
static void take_line(struct runner_output *output, const char *text, size_t size)
{
    struct runner *runner = output->runner;
    struct pool_task *task = current_task(runner);
    size_t before = output->task_bytes;

    if (output->stream == POOL_STDERR) {
        keep_tail(runner, text, size);
        keep_tail(runner, "\n", 1);
    }
    output->task_bytes += size + 1;
    if (output->task_bytes <= LIMIT_TASK_STDERR)
        hand_line(runner, task, output->stream, PGF_LOG_INFO, text, size);
    else if (before <= LIMIT_TASK_STDERR)
        pool_emit(runner->module, "output_dropped", PGF_LOG_WARN, task, runner->pid,
                  "more than %d KiB on %s: the rest is dropped", LIMIT_TASK_STDERR / LIMIT_KIB,
                  output->stream == POOL_STDERR ? "stderr" : "stdout");
}

void runner_output_flush(struct runner_output *output)
{
    struct buf *pending = &output->pending;

    if (output->marker == 0 && pending->size > 0) {
        take_line(output, pending->data, pending->size);
        buf_clear(pending);
    }
}

enum piece { PIECE_NONE, PIECE_LINE, PIECE_MARK };

/* Where the next marker begins in the first `size` bytes; NULL: nowhere. `partial`:
 * a NUL so near the end that it may become one. */
static const char *find_marker(const char *text, size_t size, bool *partial)
{
    const char *zero = size == 0 ? NULL : memchr(text, '\0', size);

    while (zero != NULL) {
        size_t behind = size - (size_t)(zero - text);

        *partial = behind < sizeof(struct frame_marker);
        if (*partial || memcmp(zero, FRAME_MARKER_MAGIC, 4) == 0)
            return zero;
        zero = memchr(zero + 1, '\0', behind - 1);
    }
    return NULL;
}

/* What comes first in the pending bytes: a line, a marker with `size` bytes before
 * it, or nothing whole. A line that is too long comes in pieces. */
static enum piece find_piece(const struct buf *pending, size_t from, size_t *size)
{
    const char *text = pending->data + from;
    size_t left = pending->size - from;
    const char *newline = left == 0 ? NULL : memchr(text, '\n', left);
    size_t line = newline == NULL ? left : (size_t)(newline - text);
    bool partial = false;
    const char *marker = find_marker(text, left, &partial);
    enum piece piece = newline == NULL ? PIECE_NONE : PIECE_LINE;

    if (marker != NULL && (size_t)(marker - text) < line) {
        line = (size_t)(marker - text);
        piece = partial ? PIECE_NONE : PIECE_MARK;
    }
    if (line >= LIMIT_LOG_LINE) {
        *size = text_utf8_prefix(text, line, LIMIT_LOG_LINE - 1);
        return PIECE_LINE;
    }
    *size = line;
    return piece;
}

static uint64_t marker_number(const char *text)
{
    struct frame_marker marker;

    memcpy(&marker, text, sizeof marker);
    return (uint64_t)marker.number_high << 32 | marker.number_low;
}

/* Hands out whole lines. Stops behind the marker of a task that is not answered. */
static void parse(struct runner_output *output)
{
    struct buf *pending = &output->pending;
    size_t from = 0;
    size_t size = 0;
    enum piece piece;

    while (output->marker == 0 && from < pending->size &&
           (piece = find_piece(pending, from, &size)) != PIECE_NONE) {
        const char *text = pending->data + from;

        if (piece == PIECE_LINE || size > 0)
            take_line(output, text, size);
        from += size;
        if (piece == PIECE_MARK) {
            from += sizeof(struct frame_marker);
            if (!output->answered)
                output->marker = marker_number(text + size);
        } else if (from < pending->size && text[size] == '\n') {
            from++;
        }
    }
    buf_consume(pending, from);
}

/* How many bytes came; 0: nothing more is there now. */
static size_t read_once(struct runner_output *output)
{
    _Atomic uint64_t *reads = &output->runner->page->reads[output->stream];
    char *room = buf_reserve(&output->pending, READ_AT_ONCE);
    ssize_t got;

    if (room == NULL) {
        /* Cannot be: parse() leaves at most a line and a marker. */
        buf_clear(&output->pending);
        return 0;
    }
    do {
        atomic_fetch_add(reads, 1);
        got = read(output->fd, room, READ_AT_ONCE);
        atomic_fetch_add(reads, 1);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return 0;
    if (got <= 0) {
        output->ended = true;
        (void)uv_poll_stop(&output->poll);
        return 0;
    }
    buf_commit(&output->pending, (size_t)got);
    output->runner->output_unheard = true;
    return (size_t)got;
}

/* While parsing waits at a marker the pipe is not watched: level-triggered, it
 * would ring all the time. */
static void watch(struct runner_output *output)
{
    bool wanted = output->marker == 0 && !output->ended;

    if (wanted == (uv_is_active((uv_handle_t *)&output->poll) != 0))
        return;
    if (wanted)
        (void)uv_poll_start(&output->poll, UV_READABLE | UV_DISCONNECT, runner_on_output);
    else
        (void)uv_poll_stop(&output->poll);
}

void runner_output_hand_out(struct runner_output *output)
{
    parse(output);
    watch(output);
}

void runner_output_read(struct runner_output *output)
{
    int reads = READS_IN_A_ROW; /* a flood must not keep the loop */

    while (output->marker == 0 && !output->ended && reads-- > 0 && read_once(output) > 0)
        if (output->answered)
            parse(output);
        else
            runner_read_answers(output->runner);
}

/* Passes marks of earlier tasks: whatever they promised is late. */
static void parse_to_marker(struct runner_output *output, uint64_t number)
{
    do {
        if (output->marker < number)
            output->marker = 0;
        parse(output);
    } while (output->marker != 0 && output->marker < number);
}

void runner_output_read_to_marker(struct runner_output *output, uint64_t number)
{
    size_t total = 0;
    size_t got = 0;

    /* It must be read whole; but a marker that was promised and never written may
     * not keep the loop. */
    do {
        total += got;
        parse_to_marker(output, number);
    } while (output->marker == 0 && !output->ended && total < BEFORE_ANSWER_MAX &&
             (got = read_once(output)) > 0);
    if (output->marker == number)
        output->marker = 0;
    watch(output);
}

void runner_output_read_last(struct runner_output *output)
{
    output->answered = true;
    output->marker = 0;
    runner_output_hand_out(output);
    runner_output_read(output);
}
