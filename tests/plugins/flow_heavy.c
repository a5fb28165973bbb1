/* SPDX-License-Identifier: Apache-2.0
 * Two heavy outputs into one step: `left` and `right` each write a string of "mib" MiB
 * (1), `join` gets both and counts the bytes of its input. */
#include "support.h"

#include <string.h>

#define BLOCK ((size_t)64 * 1024)

static int32_t heavy(void *state, const pgf_call *call)
{
    static char block[BLOCK];
    size_t blocks = (size_t)param_number(call, "mib", 1) * (1024 * 1024 / BLOCK);
    (void)state;
    memset(block, 'x', sizeof block);
    if (!put(call, "\""))
        return PGF_PERMANENT;
    for (size_t i = 0; i < blocks; i++)
        if (call->write(call, block, sizeof block) != 0)
            return PGF_PERMANENT;
    return put(call, "\"") ? PGF_OK : PGF_PERMANENT;
}

static int32_t join(void *state, const pgf_call *call)
{
    (void)state;
    return put_format(call, "%zu", call->input.len) ? PGF_OK : PGF_PERMANENT;
}

static const char *const both[] = {"left", "right", NULL};

static const pgf_step steps[] = {
    {.slug = "left", .run = heavy},
    {.slug = "right", .run = heavy},
    {.slug = "join", .deps = both, .run = join},
};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "heavy",
                                                .version = "1", .steps = PGF_ARRAY(steps)};
