/* SPDX-License-Identifier: Apache-2.0
 * The smallest flows: one step on the flow's own queue. Built as `noop`, as
 * `noop_twin` (another file with the same slug) and as `noop_again` (another slug). */
#include "support.h"

#ifndef FLOW_SLUG
#define FLOW_SLUG "noop"
#endif

static int32_t run(void *state, const pgf_call *call)
{
    (void)state;
    work_as_asked(call);
    return PGF_OK;
}

static const pgf_step steps[] = {{.slug = "noop", .run = run}};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = FLOW_SLUG,
                                                .version = "1", .steps = PGF_ARRAY(steps)};
