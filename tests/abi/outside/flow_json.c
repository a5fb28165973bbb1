/* SPDX-License-Identifier: Apache-2.0 */
#include <pgflow/json.h>

static int32_t run(void *state, const pgf_call *call)
{
    cJSON *input = pgf_json_input(call);
    (void)state;
    return input != NULL ? pgf_json_give(call, input) : PGF_PERMANENT;
}

static const pgf_step steps[] = {{.slug = "only", .kind = PGF_STEP_MAP, .run = run}};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "outside_json",
                                                .steps = PGF_ARRAY(steps)};
