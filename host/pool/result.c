/*
 * Results from answers and deaths; see result.h.
 */
#include "pool/result.h"

#include "base/json_check.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "wire/frame.h"

#include <pgflow/module.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A process so close to its limit died of it, whatever the signal. */
enum { NEAR_LIMIT_NUMERATOR = 3, NEAR_LIMIT_DENOMINATOR = 4 };

static const char stderr_heading[] = "\nstderr:\n";

static void set_error_text(struct pool_result *result, enum pool_outcome outcome,
                           struct result_text *text, const char *format, ...) PRINTF_LIKE(4, 5);

static void set_error_text(struct pool_result *result, enum pool_outcome outcome,
                           struct result_text *text, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    (void)vsnprintf(text->data, sizeof text->data, format, values);
    va_end(values);
    result->outcome = outcome;
    result->error = text->data;
    result->error_size = strlen(text->data);
}

static void take_output(const struct result_question *question, struct pool_result *result,
                        struct result_text *text)
{
    struct error error = {0};

    result->outcome = POOL_COMPLETED;
    result->output = question->output_size == 0 ? "null" : question->output;
    result->output_size = question->output_size == 0 ? strlen("null") : question->output_size;
    if (json_check_text(result->output, result->output_size, &error))
        return;
    result->output = NULL;
    result->output_size = 0;
    set_error_text(result, POOL_FAILED, text, "the handler's output is %s", error.text);
}

static void take_failure(const struct result_question *question, enum pool_outcome outcome,
                         struct pool_result *result, struct result_text *text)
{
    if (question->error_size == 0) {
        set_error_text(result, outcome, text, "handler returned %d", question->status);
    } else {
        result->outcome = outcome;
        result->error = text->data;
        result->error_size =
            text_clean(text->data, sizeof text->data, question->error, question->error_size);
    }
    if (outcome == POOL_FAILED && question->retry_after_s >= 0)
        result->retry_after_s =
            (int32_t)(question->retry_after_s < 86400 ? question->retry_after_s : 86400);
}

static void take_cancelled(const struct result_question *question, struct pool_result *result,
                           struct result_text *text)
{
    if (question->cancel_why != 0) {
        result->outcome = POOL_CANCELLED;
        result->why = (enum pool_cancel_why)question->cancel_why;
    } else if (question->timed_out) {
        set_error_text(result, POOL_FAILED, text, "timed out after %u s", question->timeout_s);
    } else {
        take_failure(question, POOL_FAILED, result, text);
    }
}

void result_of_answer(const struct result_question *question, struct pool_result *result,
                      struct result_text *text)
{
    result->retry_after_s = -1;
    if (question->status == PGF_CANCELLED)
        take_cancelled(question, result, text);
    else if (question->status == PGF_PERMANENT)
        take_failure(question, POOL_PERMANENT, result, text);
    else if (question->status != PGF_OK)
        take_failure(question, POOL_FAILED, result, text);
    else if ((question->flags & FRAME_RESULT_OVER_LIMIT) != 0)
        set_error_text(result, POOL_FAILED, text,
                       "the handler's output is over the limit of %zu MiB",
                       question->max_payload / LIMIT_MIB);
    else if ((question->flags & FRAME_RESULT_NO_MEMORY) != 0)
        set_error_text(result, POOL_FAILED, text,
                       "the handler's output did not fit into its memory");
    else
        take_output(question, result, text);
}

static bool is_near_limit(const struct result_death *death)
{
    return death->handler_memory > 0 && death->address_space > 0 &&
           death->address_space >=
               death->handler_memory / NEAR_LIMIT_DENOMINATOR * NEAR_LIMIT_NUMERATOR;
}

size_t result_death_reason(const struct result_death *death, char *out, size_t size)
{
    int length;

    if (death->cause == POOL_EXIT_TIMEOUT)
        length = snprintf(out, size, "timed out after %u s", death->timeout_s);
    else if (death->cause == POOL_EXIT_PROTOCOL)
        length = snprintf(out, size, "handler broke the runner protocol: %s", death->protocol);
    else if (death->exit_signal == 0)
        length = snprintf(out, size, "exited with status %lld", (long long)death->exit_status);
    else if (death->out_of_memory)
        length = snprintf(out, size,
                          "handler died: %s (the kernel's out-of-memory killer was at work: memory "
                          "of the machine or of its cgroup ran out)",
                          signal_name(death->exit_signal));
    else if (is_near_limit(death))
        length = snprintf(out, size, "handler died: %s (at its memory limit of %zu MiB)",
                          signal_name(death->exit_signal), death->handler_memory / LIMIT_MIB);
    else
        length = snprintf(out, size, "handler died: %s", signal_name(death->exit_signal));
    return (size_t)length < size ? (size_t)length : size - 1;
}

/* The end of stderr matters more than its beginning. */
static void add_stderr(struct result_text *text, size_t *length, const char *tail, size_t size)
{
    size_t heading = sizeof stderr_heading - 1;
    size_t room = sizeof text->data - 1 - *length;

    while (size > 0 && tail[size - 1] == '\n')
        size--;
    if (size == 0 || room <= heading)
        return;
    memcpy(text->data + *length, stderr_heading, heading);
    *length += heading;
    room -= heading;
    if (size > room) {
        tail += size - room;
        size = room;
    }
    /* Never begin in the middle of a character. */
    while (size > 0 && ((unsigned char)tail[0] & 0xC0) == 0x80) {
        tail++;
        size--;
    }
    *length += text_clean(text->data + *length, sizeof text->data - *length, tail, size);
}

void result_of_death(const struct result_death *death, const char *stderr_tail,
                     size_t stderr_tail_size, struct pool_result *result, struct result_text *text)
{
    char reason[512];
    size_t size = result_death_reason(death, reason, sizeof reason);
    size_t length = text_clean(text->data, sizeof text->data, reason, size);

    add_stderr(text, &length, stderr_tail, stderr_tail_size);
    result->outcome = POOL_FAILED;
    result->retry_after_s = -1;
    result->error = text->data;
    result->error_size = length;
}
