/*
 * Frames: everything that another process could send.
 */
#include "wire/frame.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_PAYLOAD = 1024 };

static struct frame_reader reader;
static struct frame frame;
static struct error error;

static void open_reader(void)
{
    frame_reader_init(&reader, frame_max_body(MAX_PAYLOAD));
}

static void close_reader(void)
{
    frame_reader_finish(&reader);
}

TestSuite(frame, .init = open_reader, .fini = close_reader);

static void feed(const void *data, size_t size)
{
    cr_assert(frame_reader_feed(&reader, data, size));
}

static void feed_frame(enum frame_type type, uint64_t number, const void *body, size_t size)
{
    struct frame_header header = frame_header_make(type, number, size);

    feed(&header, sizeof header);
    if (size > 0)
        feed(body, size);
}

static void expect_broken(const char *text)
{
    cr_assert_eq(frame_reader_next(&reader, &frame, &error), FRAME_NEXT_BROKEN);
    cr_assert_str_eq(error.text, text);
}

Test(frame, is_read_with_its_texts)
{
    struct {
        struct frame_result fixed;
        char text[14];
    } body = {{.status = 1, .output_size = 5, .error_size = 7}, "first\0second!"};
    const char *output, *text;
    struct frame_result result;

    feed_frame(FRAME_RESULT, 42, &body, sizeof body.fixed + 14);
    cr_assert_eq(frame_reader_next(&reader, &frame, &error), FRAME_NEXT_OK);
    result = frame_get_result(&frame, &output, &text);

    cr_assert_eq(frame.number, 42);
    cr_assert_eq(result.status, 1);
    cr_assert_str_eq(output, "first");
    cr_assert_str_eq(text, "second!");
    cr_assert_eq(frame_reader_next(&reader, &frame, &error), FRAME_NEXT_NONE);
}

Test(frame, may_come_byte_by_byte)
{
    struct frame_header header = frame_header_make(FRAME_STARTED, 7, 0);

    for (size_t i = 0; i + 1 < sizeof header; i++) {
        feed((const char *)&header + i, 1);
        cr_assert_eq(frame_reader_next(&reader, &frame, &error), FRAME_NEXT_NONE);
    }
    feed((const char *)&header + sizeof header - 1, 1);

    cr_assert_eq(frame_reader_next(&reader, &frame, &error), FRAME_NEXT_OK);
    cr_assert_eq(frame.number, 7);
}

Test(frame, several_may_come_at_once)
{
    for (uint64_t i = 1; i <= 100; i++)
        feed_frame(FRAME_STARTED, i, NULL, 0);

    for (uint64_t i = 1; i <= 100; i++) {
        cr_assert_eq(frame_reader_next(&reader, &frame, &error), FRAME_NEXT_OK);
        cr_assert_eq(frame.number, i);
    }
}

Test(frame, of_another_version_is_broken)
{
    struct frame_header header = frame_header_make(FRAME_STARTED, 1, 0);

    header.version = 2;
    feed(&header, sizeof header);

    expect_broken("frame of version 2, expected 1");
}

Test(frame, of_unknown_type_is_broken)
{
    feed_frame((enum frame_type)99, 1, NULL, 0);

    expect_broken("frame of type 99 with 0 bytes: unknown type");
}

Test(frame, over_the_limit_is_broken_before_its_body_comes)
{
    struct frame_header header =
        frame_header_make(FRAME_RESULT, 1, frame_max_body(MAX_PAYLOAD) + 1);

    feed(&header, sizeof header);

    expect_broken("frame of 67585 bytes, the limit is 67584");
}

Test(frame, of_exactly_the_limit_is_read)
{
    size_t size = frame_max_body(MAX_PAYLOAD);
    char *body = calloc(1, size);
    struct frame_result fixed = {.output_size = (uint32_t)(size - sizeof fixed - 2)};

    memcpy(body, &fixed, sizeof fixed);
    feed_frame(FRAME_RESULT, 1, body, size);

    cr_assert_eq(frame_reader_next(&reader, &frame, &error), FRAME_NEXT_OK);
    cr_assert_eq(frame.size, size);
    free(body);
}

Test(frame, whose_sizes_do_not_add_up_is_broken)
{
    struct frame_result body = {.output_size = 1};

    feed_frame(FRAME_RESULT, 1, &body, sizeof body);

    expect_broken("frame of type 19 with 40 bytes: wrong size");
}

Test(frame, whose_text_has_no_nul_behind_it_is_broken)
{
    struct {
        struct frame_result fixed;
        char text[4];
    } body = {{.output_size = 1, .error_size = 1}, "abc"};

    feed_frame(FRAME_RESULT, 1, &body, sizeof body.fixed + 4);

    cr_assert_eq(frame_reader_next(&reader, &frame, &error), FRAME_NEXT_BROKEN);
}

Test(frame, whose_sizes_overflow_is_broken)
{
    struct frame_task body = {.input_size = UINT32_MAX, .flow_input_size = 1};

    feed_frame(FRAME_TASK, 1, &body, sizeof body);

    cr_assert_eq(frame_reader_next(&reader, &frame, &error), FRAME_NEXT_BROKEN);
}

Test(frame, whose_run_id_has_no_end_is_broken)
{
    struct frame_task body = {0};

    memset(body.run_id, 'a', sizeof body.run_id);
    feed_frame(FRAME_TASK, 1, &body, sizeof body);

    cr_assert_eq(frame_reader_next(&reader, &frame, &error), FRAME_NEXT_BROKEN);
}

Test(frame, every_short_body_is_broken)
{
    static const enum frame_type types[] = {FRAME_TASK, FRAME_READY, FRAME_RESULT, FRAME_LOG,
                                            FRAME_CRASH};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        close_reader();
        open_reader();
        feed_frame(types[i], 1, "abc", 3);
        cr_assert_eq(frame_reader_next(&reader, &frame, &error), FRAME_NEXT_BROKEN);
    }
}

Test(frame, larger_than_the_buffer_is_received_whole_and_memory_freed)
{
    enum { SIZE = 4 * 1024 * 1024 };
    char *text = malloc(SIZE);
    struct frame_result fixed = {.output_size = SIZE - 2};
    struct frame_header header = frame_header_make(FRAME_RESULT, 3, sizeof fixed + SIZE);
    struct iovec iov[] = {{&header, sizeof header}, {&fixed, sizeof fixed}, {text, SIZE}};
    const char *output, *error_text;
    int ends[2];
    pid_t child;

    memset(text, 'x', SIZE);
    text[SIZE - 2] = text[SIZE - 1] = '\0';
    frame_reader_init(&reader, frame_max_body(SIZE));
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    child = fork();
    if (child == 0)
        _exit(frame_send(ends[1], iov, 3) == 0 ? 0 : 1);
    (void)close(ends[1]);
    while (frame_reader_next(&reader, &frame, &error) == FRAME_NEXT_NONE)
        cr_assert_gt(frame_reader_fill(&reader, ends[0]), 0);

    frame_get_result(&frame, &output, &error_text);
    cr_assert_eq(memcmp(output, text, SIZE), 0);
    cr_assert_eq(frame_reader_fill(&reader, ends[0]), 0);
    cr_assert_leq(reader.capacity, 1024 * 1024);
    (void)close(ends[0]);
    free(text);
}

Test(frame, sent_to_nobody_is_an_error_and_no_signal)
{
    struct frame_header header = frame_header_make(FRAME_STOP, 0, 0);
    struct iovec iov = {&header, sizeof header};
    int ends[2];

    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    (void)close(ends[0]);

    cr_assert_eq(frame_send(ends[1], &iov, 1), -EPIPE);
    (void)close(ends[1]);
}

Test(frame, is_found_across_buffer_and_what_follows)
{
    struct frame_header first = frame_header_make(FRAME_LOG, 1, 20);
    struct frame_header second = frame_header_make(FRAME_STARTED, 9, 0);
    char stream[2 * sizeof first + 20] = {0};

    memcpy(stream, &first, sizeof first);
    memcpy(stream + sizeof first + 20, &second, sizeof second);

    for (size_t cut = 0; cut <= sizeof stream; cut++) {
        close_reader();
        open_reader();
        feed(stream, cut);
        cr_assert(frame_reader_has(&reader, stream + cut, sizeof stream - cut, FRAME_STARTED, 9));
        cr_assert(!frame_reader_has(&reader, stream + cut, sizeof stream - cut, FRAME_STARTED, 8));
    }
    close_reader();
    open_reader();
    cr_assert(!frame_reader_has(&reader, stream, sizeof stream - 1, FRAME_STARTED, 9));
}

/* Whatever comes, the answer is one of three, and no byte outside is read. */
Test(frame, random_bytes_never_do_harm)
{
    unsigned seed = 1;

    for (int round = 0; round < 20000; round++) {
        unsigned char noise[96];
        size_t size = 1 + (size_t)(rand_r(&seed) % (int)sizeof noise);

        for (size_t i = 0; i < size; i++)
            noise[i] = (unsigned char)rand_r(&seed);
        if (round % 2 == 0 && size >= sizeof(struct frame_header)) {
            struct frame_header header = frame_header_make((enum frame_type)(rand_r(&seed) % 24), 1,
                                                           (size_t)(rand_r(&seed) % 96));
            memcpy(noise, &header, sizeof header);
        }
        close_reader();
        open_reader();
        feed(noise, size);
        while (frame_reader_next(&reader, &frame, NULL) == FRAME_NEXT_OK)
            cr_assert_leq(frame.size, size);
    }
}
