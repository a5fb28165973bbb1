/* SPDX-License-Identifier: Apache-2.0
 * A run that lies on three shared queues at once: three maps over the run's input, an
 * array, one a queue, and a single step besides. Element {"fail": "left"} fails in that
 * map, {"fail": "maps"} in each: the map is skipped. {"fail": "judge"} fails the run.
 * Built twice, for a neighbour on the same queues. */
#include "support.h"

#include <string.h>

static bool must_fail(const pgf_call *call, const char *kind)
{
    char named[64];
    if (!param_text(call, "fail", named, sizeof named))
        return false;
    return strcmp(named, kind) == 0 ||
           (strlen(named) == call->step_slug.len &&
            memcmp(named, call->step_slug.ptr, call->step_slug.len) == 0);
}

static int32_t each(void *state, const pgf_call *call)
{
    work_as_asked(call);
    return must_fail(call, "maps") ? PGF_PERMANENT : echo_input(state, call);
}

static int32_t judge(void *state, const pgf_call *call)
{
    return must_fail(call, "judge") ? PGF_PERMANENT : echo_input(state, call);
}

static const pgf_step steps[] = {
    {.slug = "left",
     .kind = PGF_STEP_MAP,
     .queue = "spread_left",
     .when_exhausted = "skip",
     .run = each},
    {.slug = "middle",
     .kind = PGF_STEP_MAP,
     .queue = "spread_middle",
     .when_exhausted = "skip",
     .run = each},
    {.slug = "right",
     .kind = PGF_STEP_MAP,
     .queue = "spread_right",
     .when_exhausted = "skip",
     .run = each},
    {.slug = "judge", .queue = "spread_left", .run = judge},
};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = FLOW_SLUG,
                                                .version = "1", .queue_mode = PGF_QUEUE_ROUTED,
                                                .steps = PGF_ARRAY(steps)};
