/*
 * The end of a handler as a result: pure functions.
 */
#include "pool/result.h"

#include "wire/frame.h"

#include <criterion/criterion.h>
#include <pgflow/module.h>
#include <signal.h>
#include <string.h>

static struct pool_result result;
static struct result_text text;

static struct result_question question_of(int32_t status)
{
    return (struct result_question){
        .status = status, .retry_after_s = -1, .timeout_s = 60, .max_payload = LIMIT_MIB};
}

Test(result, unasked_cancel_is_an_error)
{
    struct result_question question = question_of(PGF_CANCELLED);

    result_of_answer(&question, &result, &text);

    cr_assert_eq(result.outcome, POOL_FAILED);
    cr_assert_str_eq(result.error, "handler returned 3");
}

Test(result, cancel_at_the_deadline_is_a_timeout)
{
    struct result_question question = question_of(PGF_CANCELLED);

    question.timed_out = true;
    result_of_answer(&question, &result, &text);

    cr_assert_eq(result.outcome, POOL_FAILED);
    cr_assert_str_eq(result.error, "timed out after 60 s");
}

Test(result, success_after_the_deadline_is_success)
{
    struct result_question question = question_of(PGF_OK);

    question.timed_out = true;
    question.output = "1";
    question.output_size = 1;
    result_of_answer(&question, &result, &text);

    cr_assert_eq(result.outcome, POOL_COMPLETED);
}

Test(result, cancel_that_was_asked_for_says_why)
{
    struct result_question question = question_of(PGF_CANCELLED);

    question.cancel_why = POOL_SHUTDOWN;
    result_of_answer(&question, &result, &text);

    cr_assert_eq(result.outcome, POOL_CANCELLED);
    cr_assert_eq(result.why, POOL_SHUTDOWN);
}

Test(result, retry_after_is_clamped_to_a_day)
{
    struct result_question question = question_of(PGF_ERROR);

    question.retry_after_s = INT64_MAX;
    result_of_answer(&question, &result, &text);

    cr_assert_eq(result.retry_after_s, 86400);
}

Test(result, permanent_error_has_no_retry)
{
    struct result_question question = question_of(PGF_PERMANENT);

    question.retry_after_s = 5;
    result_of_answer(&question, &result, &text);

    cr_assert_eq(result.retry_after_s, -1);
}

static void expect_reason(struct result_death death, const char *expected)
{
    char reason[256];

    result_death_reason(&death, reason, sizeof reason);

    cr_assert_str_eq(reason, expected);
}

Test(result, death_reasons_say_what_happened)
{
    const size_t limit = (size_t)512 * LIMIT_MIB;

    expect_reason((struct result_death){.cause = POOL_EXIT_SIGNAL, .exit_signal = SIGSEGV},
                  "handler died: SIGSEGV");
    expect_reason((struct result_death){.cause = POOL_EXIT_SIGNAL,
                                        .exit_signal = SIGSEGV,
                                        .address_space = limit,
                                        .handler_memory = limit},
                  "handler died: SIGSEGV (at its memory limit of 512 MiB)");
    expect_reason((struct result_death){.cause = POOL_EXIT_SIGNAL,
                                        .exit_signal = SIGSEGV,
                                        .address_space = limit / 2,
                                        .handler_memory = limit},
                  "handler died: SIGSEGV");
    expect_reason((struct result_death){.cause = POOL_EXIT_STATUS, .exit_status = 3},
                  "exited with status 3");
    expect_reason((struct result_death){.cause = POOL_EXIT_TIMEOUT, .timeout_s = 60},
                  "timed out after 60 s");
    expect_reason((struct result_death){.cause = POOL_EXIT_SIGNAL, .exit_signal = 40},
                  "handler died: signal 40");
}

Test(result, error_of_a_death_keeps_the_end_of_stderr)
{
    struct result_death death = {.cause = POOL_EXIT_STATUS, .exit_status = 1};
    char tail[LIMIT_STDERR_TAIL];

    memset(tail, 'x', sizeof tail);
    memcpy(tail + sizeof tail - 4, "end\n", 4);
    result_of_death(&death, tail, sizeof tail, &result, &text);

    cr_assert_eq(result.error_size, LIMIT_ERROR_TEXT - 1);
    cr_assert_eq(strncmp(result.error, "exited with status 1\nstderr:\nxxx", 32), 0);
    cr_assert_str_eq(result.error + result.error_size - 4, "xend");
}
