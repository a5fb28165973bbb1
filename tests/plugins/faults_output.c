/* SPDX-License-Identifier: Apache-2.0
 * Handlers whose result is no JSON, not storable as jsonb, or too much. */
#include "faults.h"

#include <string.h>

/* What a step of each name writes, byte by byte, with PGF_OK. */
static const struct {
    const char *step;
    const char *text;
    size_t len;
} outputs[] = {
#define OUTPUT(step, text)                                                                         \
    {                                                                                              \
        step, text, sizeof text - 1                                                                \
    }
    OUTPUT("not_json", "{result: ok}"),
    OUTPUT("cut_short", "{\"a\": [1, 2"),
    OUTPUT("two_values", "1 2"),
    OUTPUT("leading_zero", "01"),
    OUTPUT("nul_byte", "\"a\0b\""),
    OUTPUT("nul_escape", "\"a\\u0000b\""),
    OUTPUT("bad_utf8", "\"a\xc3\x28\""),
    OUTPUT("overlong_utf8", "\"\xc0\xaf\""),
    OUTPUT("lone_surrogate", "\"a\\ud83d\""),
    OUTPUT("control_character", "\"a\nb\""),
    OUTPUT("number_overflow", "1e200000"),
#undef OUTPUT
};

int32_t fault_output(void *state, const pgf_call *call)
{
    (void)state;
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++)
        if (strlen(outputs[i].step) == call->step_slug.len &&
            memcmp(outputs[i].step, call->step_slug.ptr, call->step_slug.len) == 0)
            return call->write(call, outputs[i].text, outputs[i].len) == 0 ? PGF_OK : PGF_ERROR;
    return PGF_PERMANENT;
}

/* Arrays in arrays, "depth" (513) of them. */
int32_t fault_nested(void *state, const pgf_call *call)
{
    long depth = param_number(call, "depth", 513);
    bool ok = true;
    (void)state;
    for (long i = 0; i < depth && ok; i++)
        ok = put(call, "[");
    for (long i = 0; i < depth && ok; i++)
        ok = put(call, "]");
    return ok ? PGF_OK : PGF_ERROR;
}

/* A string of "mib" (17) MiB; goes on, and says PGF_OK, whatever the writer answers. */
int32_t fault_over_limit(void *state, const pgf_call *call)
{
    static char block[1024];
    long blocks = param_number(call, "mib", 17) * 1024;
    (void)state;
    memset(block, 'x', sizeof block);
    put(call, "\"");
    for (long i = 0; i < blocks; i++)
        call->write(call, block, sizeof block);
    put(call, "\"");
    return PGF_OK;
}

int32_t fault_nothing(void *state, const pgf_call *call)
{
    (void)state;
    (void)call;
    return PGF_OK;
}

int32_t fault_big_integers(void *state, const pgf_call *call)
{
    (void)state;
    return put(call, "[9007199254740993, -9223372036854775808, 18446744073709551615, "
                     "123456789012345678901234567890]")
               ? PGF_OK
               : PGF_ERROR;
}
