/* SPDX-License-Identifier: Apache-2.0
 * Handlers that fail by what they return. */
#include "faults.h"

#include <string.h>

/* What a step of each name gives as error text, and returns. */
static const struct {
    const char *step;
    int32_t result;
    const char *text;
    size_t len;
} errors[] = {
#define ERROR_TEXT(step, result, text)                                                             \
    {                                                                                              \
        step, result, text, sizeof text - 1                                                        \
    }
    ERROR_TEXT("error_text", PGF_ERROR, "the mailbox is full"),
    ERROR_TEXT("error_nul", PGF_ERROR, "before\0after"),
    ERROR_TEXT("error_bad_utf8", PGF_ERROR, "caf\xe9 \xff closed"),
    ERROR_TEXT("error_escape", PGF_PERMANENT,
               "a \033[31mred\033[0m \342\200\256error\npgflowctl: run 1 is completed"),
    ERROR_TEXT("permanent", PGF_PERMANENT, "no such mailbox"),
#undef ERROR_TEXT
};

int32_t fault_error_text(void *state, const pgf_call *call)
{
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (strlen(errors[i].step) != call->step_slug.len ||
            memcmp(errors[i].step, call->step_slug.ptr, call->step_slug.len) != 0)
            continue;
        put(call, "{\"dropped\": true}");
        call->set_error(call, errors[i].text, errors[i].len);
        return errors[i].result;
    }
    return PGF_PERMANENT;
}

/* 10 KiB of text in which every character takes two bytes, so that the cut at the limit
 * can fall into one. */
int32_t fault_error_long(void *state, const pgf_call *call)
{
    static char text[10 * 1024 + 1];
    (void)state;
    text[0] = '!';
    for (size_t i = 1; i < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    call->set_error(call, text, sizeof text);
    return PGF_ERROR;
}

/* Fails its first attempt and asks to be tried again after "s" (1) seconds. */
int32_t fault_retry_after(void *state, const pgf_call *call)
{
    (void)state;
    if (call->attempt > 1)
        return put_format(call, "{\"attempt\": %u}", (unsigned)call->attempt) ? PGF_OK : PGF_ERROR;
    call->set_error(call, "come back later", 15);
    call->retry_after(call, (uint32_t)param_number(call, "s", 1));
    return PGF_ERROR;
}

/* Returns "value" (1), without a text. */
int32_t fault_return(void *state, const pgf_call *call)
{
    (void)state;
    return (int32_t)param_number(call, "value", PGF_ERROR);
}
