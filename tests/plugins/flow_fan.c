/* SPDX-License-Identifier: Apache-2.0
 * A map between two single steps. `make` gives the numbers 0 to n - 1 (the run's input
 * {"n": 10}), `each` doubles one of them, `count` counts what came back. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

static int32_t make(void *state, const pgf_call *call)
{
    (void)state;
    long n = param_number(call, "n", 3);
    bool ok = put(call, "[");
    for (long i = 0; i < n && ok; i++)
        ok = put_format(call, i == 0 ? "%ld" : ",%ld", i);
    return ok && put(call, "]") ? PGF_OK : PGF_PERMANENT;
}

static int32_t each(void *state, const pgf_call *call)
{
    (void)state;
    work_as_asked(call);
    char digits[24] = {0};
    memcpy(digits, call->input.ptr,
           call->input.len < sizeof digits ? call->input.len : sizeof digits - 1);
    return put_format(call, "%ld", 2 * strtol(digits, NULL, 10)) ? PGF_OK : PGF_PERMANENT;
}

static int32_t count(void *state, const pgf_call *call)
{
    (void)state;
    size_t commas = 0;
    size_t digits = 0;
    for (size_t i = 0; i < call->input.len; i++) {
        commas += call->input.ptr[i] == ',';
        digits += call->input.ptr[i] >= '0' && call->input.ptr[i] <= '9';
    }
    return put_format(call, "%zu", digits > 0 ? commas + 1 : 0) ? PGF_OK : PGF_PERMANENT;
}

static const char *const after_make[] = {"make", NULL};
static const char *const after_each[] = {"each", NULL};

static const pgf_step steps[] = {
    {.slug = "make", .run = make},
    {.slug = "each",
     .kind = PGF_STEP_MAP,
     .deps = after_make,
     .flags = PGF_WANTS_FLOW_INPUT,
     .run = each},
    {.slug = "count", .deps = after_each, .run = count},
};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "fan",
                                                .version = "1", .steps = PGF_ARRAY(steps)};
