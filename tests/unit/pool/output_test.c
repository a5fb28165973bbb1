/*
 * What handlers print and log becomes lines of the right task.
 */
#include "harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct harness h;
static struct pool_module *faults;

static void open_pool(void)
{
    harness_init(&h);
    h.config.concurrency = 1;
    harness_start(&h);
    faults = harness_add(&h, "faults");
}

static void close_pool(void)
{
    harness_finish(&h);
}

TestSuite(output, .init = open_pool, .fini = close_pool, .timeout = 60);

static void expect_all_lines_of(const struct record *record)
{
    cr_assert_eq(harness_count_lines(&h, record, POOL_STDOUT, "a line on stdout"), 1);
    cr_assert_eq(harness_count_lines(&h, record, POOL_STDERR, "a line on stderr"), 1);
    cr_assert_eq(harness_count_lines(&h, record, POOL_STDOUT, "no newline at the end"), 1);
    cr_assert_eq(harness_count_lines(&h, record, POOL_LOG, "debug"), 1);
    cr_assert_eq(harness_count_lines(&h, record, POOL_LOG, "error"), 1);
}

Test(output, lines_and_logs_come_before_the_end_of_their_task)
{
    struct record task = {0};

    harness_run(&h, &task, faults, "print", "{}");

    cr_assert_eq(task.outcome, POOL_COMPLETED);
    expect_all_lines_of(&task);
    record_free(&task);
}

Test(output, log_levels_are_kept)
{
    struct record task = {0};
    int levels = 0;

    harness_run(&h, &task, faults, "print", "{}");
    for (int i = 0; i < h.line_count; i++)
        if (h.lines[i].stream == POOL_LOG)
            levels = levels * 10 + h.lines[i].level;

    cr_assert_eq(levels, 123, "debug 0, info 1, warn 2, error 3; got %d", levels);
    record_free(&task);
}

/* Eight tasks are answered as fast as the runner can, so that several answers
 * and their output arrive at once. */
Test(output, lines_of_tasks_behind_each_other_are_told_apart)
{
    struct record tasks[8] = {0};

    for (int i = 0; i < 8; i++)
        harness_submit(&h, &tasks[i], faults, "print", "{}");
    for (int i = 0; i < 8; i++)
        harness_wait(&h, &tasks[i].done, 1);

    for (int i = 0; i < 8; i++)
        expect_all_lines_of(&tasks[i]);
    cr_assert_eq(harness_count_lines(&h, NULL, POOL_STDOUT, "a line on stdout"), 8);
    for (int i = 0; i < 8; i++)
        record_free(&tasks[i]);
}

Test(output, quiet_task_between_loud_ones_gets_no_line)
{
    struct record tasks[6] = {0};

    for (int i = 0; i < 6; i++)
        harness_submit(&h, &tasks[i], faults, i % 2 == 0 ? "print" : "nothing", "{}");
    for (int i = 0; i < 6; i++)
        harness_wait(&h, &tasks[i].done, 1);

    for (int i = 0; i < 6; i++)
        if (i % 2 == 0)
            expect_all_lines_of(&tasks[i]);
    for (int i = 0; i < h.line_count; i++)
        for (int task = 1; task < 6; task += 2)
            cr_assert_neq(h.lines[i].task, &tasks[task].task, "%s", h.lines[i].text);
    for (int i = 0; i < 6; i++)
        record_free(&tasks[i]);
}

static void expect_failure(const char *step, const char *params, enum pool_outcome outcome,
                           const char *error)
{
    struct record task = {0};

    harness_run(&h, &task, faults, step, params);

    cr_assert_eq(task.outcome, outcome, "%s", step);
    cr_assert_str_eq(task.error, error);
    cr_assert_null(task.output);
    cr_assert(!task.died);
    record_free(&task);
}

Test(output, result_that_is_no_json_fails_the_attempt)
{
    expect_failure("leading_zero", "{}", POOL_FAILED,
                   "the handler's output is not JSON: a number with a leading zero at byte 1");
}

Test(output, every_kind_of_broken_result_fails_the_attempt)
{
    static const char *const steps[] = {
        "not_json", "cut_short",     "two_values",     "nul_byte",          "nul_escape",
        "bad_utf8", "overlong_utf8", "lone_surrogate", "control_character", "nested"};

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct record task = {0};

        harness_run(&h, &task, faults, steps[i], "{}");
        cr_assert_eq(task.outcome, POOL_FAILED, "%s", steps[i]);
        cr_assert_not_null(strstr(task.error, "the handler's output is not JSON: "), "%s: %s",
                           steps[i], task.error);
        record_free(&task);
    }
    cr_assert_eq(pool_gauges(h.pool).spawned, 1);
}

Test(output, result_over_the_limit_fails_the_attempt)
{
    expect_failure("over_limit", "{\"mib\": 17}", POOL_FAILED,
                   "the handler's output is over the limit of 16 MiB");
}

Test(output, result_of_almost_the_limit_arrives_whole)
{
    struct record task = {0};

    harness_run(&h, &task, faults, "over_limit", "{\"mib\": 15}");

    cr_assert_eq(task.outcome, POOL_COMPLETED, "%s", task.error);
    cr_assert_geq(strlen(task.output), 15 * LIMIT_MIB);
    record_free(&task);
}

Test(output, integers_beyond_2_to_53_pass_unchanged)
{
    struct record task = {0};

    harness_run(&h, &task, faults, "big_integers", "{}");

    cr_assert_str_eq(task.output, "[9007199254740993, -9223372036854775808, "
                                  "18446744073709551615, 123456789012345678901234567890]");
    record_free(&task);
}

Test(output, nothing_written_is_null)
{
    struct record task = {0};

    harness_run(&h, &task, faults, "nothing", "{}");

    cr_assert_eq(task.outcome, POOL_COMPLETED);
    cr_assert_str_eq(task.output, "null");
    record_free(&task);
}

Test(output, error_text_is_handed_on_and_output_dropped)
{
    expect_failure("error_text", "{}", POOL_FAILED, "the mailbox is full");
}

Test(output, permanent_error_is_told_as_such)
{
    expect_failure("permanent", "{}", POOL_PERMANENT, "no such mailbox");
}

Test(output, error_text_with_nul_bytes_is_cleaned)
{
    expect_failure("error_nul", "{}", POOL_FAILED,
                   "before\xEF\xBF\xBD"
                   "after");
}

Test(output, long_error_text_is_cut_at_a_character)
{
    struct record task = {0};
    size_t length;

    harness_run(&h, &task, faults, "error_long", "{}");
    length = strlen(task.error);

    cr_assert(length >= LIMIT_ERROR_TEXT - 4 && length < LIMIT_ERROR_TEXT);
    cr_assert(task.error[length - 1] == 'e' ||
              ((unsigned char)task.error[length - 1] & 0xC0) == 0x80);
    record_free(&task);
}

Test(output, return_values_without_a_text_are_named)
{
    expect_failure("return", "{\"value\": 1}", POOL_FAILED, "handler returned 1");
    expect_failure("return", "{\"value\": 2}", POOL_PERMANENT, "handler returned 2");
    expect_failure("return", "{\"value\": 3}", POOL_FAILED, "handler returned 3");
    expect_failure("return", "{\"value\": 99}", POOL_FAILED, "handler returned 99");
    expect_failure("return", "{\"value\": -1}", POOL_FAILED, "handler returned -1");
}

Test(output, retry_after_is_handed_on)
{
    struct record task = {0};

    harness_run(&h, &task, faults, "retry_after", "{\"s\": 7}");

    cr_assert_eq(task.outcome, POOL_FAILED);
    cr_assert_eq(task.retry_after_s, 7);
    cr_assert_str_eq(task.error, "come back later");
    record_free(&task);
}

Test(output, input_of_10_mib_arrives)
{
    static char params[10 * LIMIT_MIB];
    struct record task = {0};

    memset(params, 'x', sizeof params - 1);
    memcpy(params, "\"", 1);
    params[sizeof params - 2] = '"';
    harness_run(&h, &task, faults, "echo", params);

    cr_assert_eq(task.outcome, POOL_COMPLETED, "%s", task.error);
    cr_assert_str_eq(task.output, params);
    record_free(&task);
}

/* The host read on until the mark, for ever: it was never written. */
Test(output, mark_that_was_promised_and_never_written_holds_up_nobody)
{
    struct record forged = {0};

    harness_run(&h, &forged, faults, "forged_result", "{}");

    cr_assert_eq(forged.outcome, POOL_COMPLETED);
    record_free(&forged);
}

/* Where the pipe had no room the mark was left out, the rest of stdout was dropped, and the first
 * send or receive that would wait ended the runner. Now it answers, and is recycled. */
Test(output, descriptors_that_a_handler_made_non_blocking_lose_nothing)
{
    enum { PAIRS = 8 };
    struct record filling[PAIRS] = {0}, printing[PAIRS] = {0};

    for (int i = 0; i < PAIRS; i++) {
        harness_submit(&h, &filling[i], faults, "nonblock",
                       i % 2 ? "{\"stderr\": 1, \"mib\": 0}" : "{}");
        harness_submit(&h, &printing[i], faults, "print", "{}");
    }
    for (int i = 0; i < PAIRS; i++)
        harness_wait(&h, &printing[i].done, 1);

    for (int i = 0; i < PAIRS; i++) {
        cr_assert_eq(filling[i].outcome, POOL_COMPLETED, "%s", filling[i].error);
        cr_assert_eq(strlen(filling[i].output), (i % 2 ? 0 : 4 * LIMIT_MIB) + 2);
        cr_assert_eq(harness_count_lines(&h, &filling[i], POOL_STDOUT, "the last word"),
                     i % 2 == 0);
        expect_all_lines_of(&printing[i]);
        for (int line = 0; line < h.line_count; line++)
            if (h.lines[line].task == &printing[i].task)
                cr_assert_null(strstr(h.lines[line].text, "filler"));
        record_free(&filling[i]);
        record_free(&printing[i]);
    }
    cr_assert_eq(pool_module_exits(faults, POOL_EXIT_STATUS), 0);
    cr_assert_eq(pool_module_exits(faults, POOL_EXIT_SIGNAL), 0);
    cr_assert_eq(pool_module_exits(faults, POOL_EXIT_PROTOCOL), 0);
    cr_assert_geq(pool_module_exits(faults, POOL_EXIT_RECYCLED), PAIRS - 1);
}

static char fifo[96];
static void (*keep_line)(void *context, const struct pool_line *line);

/* The host stands still after its read of the first line until the next task has printed. */
static void meet_after_first_line(void *context, const struct pool_line *line)
{
    keep_line(context, line);
    if (strcmp(line->text, "first") == 0)
        (void)close(open(fifo, O_RDONLY | O_CLOEXEC));
}

static void open_pool_that_meets(void)
{
    harness_init(&h);
    h.config.concurrency = 1;
    keep_line = h.config.callbacks.on_line;
    h.config.callbacks.on_line = meet_after_first_line;
    harness_start(&h);
    faults = harness_add(&h, "faults");
    snprintf(fifo, sizeof fifo, "%s/meeting", h.folder);
    cr_assert_eq(mkfifo(fifo, 0600), 0);
}

TestSuite(meeting, .init = open_pool_that_meets, .fini = close_pool, .timeout = 60);

/* The first task found its pipe empty and so left no mark; the host, amid its reading and yet
 * without the answer, took what followed for that task's. */
Test(meeting, line_printed_while_the_host_reads_that_of_the_task_before_is_told_apart)
{
    struct record first = {0}, second = {0};
    char params[160];

    snprintf(params, sizeof params, "{\"line\": \"second\", \"fifo\": \"%s\"}", fifo);
    harness_submit(&h, &first, faults, "print_and_meet", "{\"line\": \"first\"}");
    harness_submit(&h, &second, faults, "print_and_meet", params);
    harness_wait(&h, &second.done, 1);

    cr_assert_eq(second.outcome, POOL_COMPLETED);
    cr_assert_eq(harness_count_lines(&h, &first, POOL_STDOUT, "first"), 1);
    cr_assert_eq(harness_count_lines(&h, &second, POOL_STDOUT, "second"), 1);
    record_free(&first);
    record_free(&second);
}
