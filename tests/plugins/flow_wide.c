/* SPDX-License-Identifier: Apache-2.0
 * Two steps with large results and one that gets both: `left` and `right` give a text of
 * "mib" (150) MiB each, `both` the number of bytes in its input. */
#include "support.h"

#include <string.h>

static int32_t text(void *state, const pgf_call *call)
{
    static char block[64 * 1024];
    long blocks = param_number(call, "mib", 150) * 16;
    (void)state;
    memset(block, 'x', sizeof block);
    bool ok = put(call, "\"");
    for (long i = 0; i < blocks && ok; i++)
        ok = call->write(call, block, sizeof block) == 0;
    return ok && put(call, "\"") ? PGF_OK : PGF_PERMANENT;
}

static int32_t both(void *state, const pgf_call *call)
{
    (void)state;
    return put_format(call, "%zu", call->input.len) ? PGF_OK : PGF_PERMANENT;
}

static const char *const after_texts[] = {"left", "right", NULL};

static const pgf_step steps[] = {
    {.slug = "left", .run = text},
    {.slug = "right", .run = text},
    {.slug = "both", .deps = after_texts, .run = both},
};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "wide",
                                                .version = "1", .steps = PGF_ARRAY(steps)};
