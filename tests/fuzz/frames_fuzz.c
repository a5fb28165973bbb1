/*
 * Bytes of a runner, or of a host: whatever pieces they come in, the same frames
 * come out, and written again they are the bytes that were read.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "wire/frame.h"

#include <string.h>

enum { MAX_PAYLOAD = 2000 };

static void check_task(const struct frame *frame)
{
    const char *input, *flow_input;
    struct frame_task task = frame_get_task(frame, &input, &flow_input);
    FUZZ_CHECK(strlen(task.run_id) < sizeof task.run_id);
    FUZZ_CHECK(flow_input + task.flow_input_size == frame->body + frame->size);
    FUZZ_CHECK(input + task.input_size == flow_input);
}

static void check_result(const struct frame *frame)
{
    const char *output, *error;
    struct frame_result result = frame_get_result(frame, &output, &error);
    FUZZ_CHECK(output[result.output_size] == '\0' && error[result.error_size] == '\0');
    FUZZ_CHECK(error + result.error_size + 1 == frame->body + frame->size);
    FUZZ_CHECK(result.error_size < LIMIT_ERROR_TEXT);
}

static void check_text(const struct frame *frame)
{
    int32_t level;
    size_t size;
    const char *text = frame_get_text(frame, &level, &size);
    FUZZ_CHECK(text + size == frame->body + frame->size && size <= LIMIT_FRAME_OVERHEAD);
}

static void check_frame(const struct frame *frame)
{
    FUZZ_CHECK(frame->size <= frame_max_body(MAX_PAYLOAD));
    switch (frame->type) {
    case FRAME_TASK:
        check_task(frame);
        break;
    case FRAME_RESULT:
        check_result(frame);
        break;
    case FRAME_LOG:
    case FRAME_FAILED:
        check_text(frame);
        break;
    case FRAME_READY:
        (void)frame_get_ready(frame);
        break;
    case FRAME_CRASH:
        (void)frame_get_crash(frame);
        break;
    default:
        FUZZ_CHECK(frame->size == 0);
    }
}

static void write_frame(struct buf *out, const struct frame *frame)
{
    struct frame_header header = frame_header_make(frame->type, frame->number, frame->size);
    buf_put(out, &header, sizeof header);
    buf_put(out, frame->body, frame->size);
}

/* All frames that are whole, written again to `out`. */
static enum frame_next take_frames(struct frame_reader *reader, struct buf *out)
{
    struct error error = {0};
    struct frame frame;
    enum frame_next next;
    while ((next = frame_reader_next(reader, &frame, &error)) == FRAME_NEXT_OK) {
        check_frame(&frame);
        write_frame(out, &frame);
    }
    FUZZ_CHECK((next == FRAME_NEXT_BROKEN) == (error.text[0] != '\0'));
    return next;
}

static enum frame_next read_whole(const uint8_t *data, size_t size, struct buf *out)
{
    struct frame_reader reader;
    frame_reader_init(&reader, frame_max_body(MAX_PAYLOAD));
    FUZZ_CHECK(frame_reader_feed(&reader, data, size));
    enum frame_next next = take_frames(&reader, out);
    frame_reader_finish(&reader);
    return next;
}

static enum frame_next read_pieces(const uint8_t *data, size_t size, size_t piece, struct buf *out)
{
    struct frame_reader reader;
    enum frame_next next = FRAME_NEXT_NONE;
    frame_reader_init(&reader, frame_max_body(MAX_PAYLOAD));
    while (size > 0 && next == FRAME_NEXT_NONE) {
        size_t now = size < piece ? size : piece;
        FUZZ_CHECK(frame_reader_feed(&reader, data, now));
        next = take_frames(&reader, out);
        data += now;
        size -= now;
    }
    frame_reader_finish(&reader);
    return next;
}

/* The look ahead sees every frame that is taken later, wherever the bytes are cut. */
static void check_look_ahead(const uint8_t *data, size_t size, size_t cut)
{
    struct frame_reader ahead, reader;
    struct frame frame;
    frame_reader_init(&ahead, frame_max_body(MAX_PAYLOAD));
    frame_reader_init(&reader, frame_max_body(MAX_PAYLOAD));
    cut = cut < size ? cut : size;
    FUZZ_CHECK(frame_reader_feed(&ahead, data, cut) && frame_reader_feed(&reader, data, size));
    while (frame_reader_next(&reader, &frame, NULL) == FRAME_NEXT_OK)
        FUZZ_CHECK(frame_reader_has(&ahead, (const char *)data + cut, size - cut, frame.type,
                                    frame.number));
    frame_reader_finish(&ahead);
    frame_reader_finish(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole, pieces;
    size_t piece = size > 0 ? 1 + data[0] % 40u : 1;
    if (size > 0) {
        data++;
        size--;
    }
    buf_init(&whole, 1 << 24);
    buf_init(&pieces, 1 << 24);
    enum frame_next first = read_whole(data, size, &whole);
    enum frame_next second = size > 0 ? read_pieces(data, size, piece, &pieces) : first;
    FUZZ_CHECK(first == second && buf_ok(&whole) && buf_ok(&pieces));
    FUZZ_CHECK(whole.size == pieces.size && memcmp(whole.data, pieces.data, whole.size) == 0);
    FUZZ_CHECK(whole.size <= size && memcmp(whole.data, data, whole.size) == 0);
    check_look_ahead(data, size, piece * 3);
    buf_free(&whole);
    buf_free(&pieces);
    return 0;
}
