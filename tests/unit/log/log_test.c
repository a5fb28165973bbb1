#include "base/buf.h"
#include "base/json_check.h"
#include "log/log.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* 2026-11-30 03:04:05.000678 UTC */
#define TS INT64_C(1796007845000678)

static struct buf line;

static const char *render(enum log_format format, const struct log_field *fields, size_t count)
{
    buf_init(&line, LIMIT_LOG_LINE);
    log_render(&line, format, false, TS, LOG_LEVEL_WARN, "task_failed", "task failed", fields,
               count);
    return line.data;
}

#define RENDER(format, ...)                                                                        \
    render(format, (struct log_field[]){__VA_ARGS__},                                              \
           sizeof((struct log_field[]){__VA_ARGS__}) / sizeof(struct log_field))

Test(log, writes_logfmt)
{
    const char *text = RENDER(LOG_FORMAT_LOGFMT, LOG_QUEUE("audit"), LOG_TASK(3), LOG_MS(1.5),
                              LOG_ERROR("a b=\"c\""), LOG_FIELD_BOOL("ok", true));

    cr_assert(eq(str, (char *)text,
                 "ts=2026-11-30T03:04:05.000678Z level=warn event=task_failed msg=\"task failed\" "
                 "queue=audit task=3 ms=1.500 error=\"a b=\\\"c\\\"\" ok=true\n"));
}

Test(log, writes_json)
{
    const char *text = RENDER(LOG_FORMAT_JSON, LOG_FLOW("audit_v1"), LOG_MSG_ID(INT64_MAX));

    cr_assert(eq(str, (char *)text,
                 "{\"ts\":\"2026-11-30T03:04:05.000678Z\",\"level\":\"warn\",\"event\":\"task_"
                 "failed\",\"msg\":\"task failed\",\"flow\":\"audit_v1\",\"msg_id\":"
                 "9223372036854775807}\n"));
}

Test(log, writes_pretty)
{
    const char *text = RENDER(LOG_FORMAT_PRETTY, LOG_STEP("scan"), LOG_ATTEMPT(2));

    cr_assert(eq(str, (char *)text, "03:04:05.000 warn  task failed step=scan attempt=2\n"));
}

Test(log, leaves_out_fields_without_a_value)
{
    const char *text = RENDER(LOG_FORMAT_PRETTY, LOG_STEP(NULL), LOG_FIELD_NONE, LOG_PID(7));

    cr_assert(eq(str, (char *)text, "03:04:05.000 warn  task failed pid=7\n"));
}

Test(log, no_value_can_forge_a_line_or_a_terminal_sequence)
{
    static const char hostile[] = "x\nts=1 level=fatal\r\x1b[2J\x7f\xc2\x9b"
                                  "31m\xff";
    static const enum log_format formats[] = {LOG_FORMAT_PRETTY, LOG_FORMAT_LOGFMT,
                                              LOG_FORMAT_JSON};
    for (size_t i = 0; i < 3; i++) {
        const char *text = RENDER(formats[i], LOG_ERROR(hostile));

        cr_expect(eq(ptr, strchr(text, '\n'), (char *)text + strlen(text) - 1));
        cr_expect(eq(ptr, strpbrk(text, "\r\x1b\x7f"), NULL));
        cr_expect(eq(ptr, strstr(text, "\xc2\x9b"), NULL));
        buf_free(&line);
    }
}

Test(log, long_values_and_long_lines_stay_valid_json)
{
    static char value[3 * LIMIT_LOG_VALUE];
    memset(value, '\x01', sizeof value - 1);

    const char *text = RENDER(LOG_FORMAT_JSON, LOG_ERROR(value), LOG_FIELD_TEXT("more", value),
                              LOG_QUEUE("audit"));

    cr_assert(le(sz, strlen(text), LIMIT_LOG_LINE));
    cr_assert(json_check_text(text, strlen(text), NULL));
    cr_assert(ne(ptr, strstr(text, "\"truncated\":true"), NULL));
    cr_assert(ne(ptr, strstr(text, "\"queue\":\"audit\""), NULL));
}

Test(log, levels_below_the_chosen_one_are_not_evaluated)
{
    int evaluated = 0;
    log_open(STDERR_FILENO, LOG_FORMAT_JSON, LOG_LEVEL_ERROR);

    log_warn("x", "x", LOG_TASK(++evaluated));

    cr_assert(eq(int, evaluated, 0));
}

static void fill(int fd)
{
    static char dots[4096];
    memset(dots, '.', sizeof dots);
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    while (write(fd, dots, sizeof dots) > 0 || write(fd, dots, 1) > 0) {
    }
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

static void drain(int fd, struct buf *text)
{
    char *room;
    ssize_t n = 0;
    buf_clear(text);
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    while ((room = buf_reserve(text, 65536)) != NULL && (n = read(fd, room, 65536)) > 0)
        buf_commit(text, (size_t)n);
}

/* The reader sleeps: lines are dropped, not waited for; when it wakes up it
 * learns how many. */
static void check_full(int reader, int writer)
{
    struct buf text;
    buf_init(&text, 8 * LIMIT_MIB);
    fill(writer);
    log_open(writer, LOG_FORMAT_LOGFMT, LOG_LEVEL_INFO);

    for (int i = 0; i < 50; i++)
        log_info("lost", "nobody reads this");
    drain(reader, &text);
    log_info("seen", "somebody reads this");
    drain(reader, &text);

    cr_assert(eq(ptr, strstr(text.data, "event=lost"), NULL));
    cr_assert(ne(ptr, strstr(text.data, "event=log_dropped"), NULL));
    cr_assert(ne(ptr, strstr(text.data, "dropped=50"), NULL));
    cr_assert(ne(ptr, strstr(text.data, "event=seen"), NULL));
    buf_free(&text);
}

Test(log, a_full_pipe_costs_lines_and_not_the_loop)
{
    int fds[2];
    cr_assert(eq(int, pipe(fds), 0));

    check_full(fds[0], fds[1]);

    cr_assert(not(fcntl(fds[1], F_GETFL) & O_NONBLOCK), "the shared flags were changed");
}

Test(log, a_full_socket_costs_lines_and_not_the_loop)
{
    int fds[2];
    cr_assert(eq(int, socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0));

    check_full(fds[0], fds[1]);
}
