/* SPDX-License-Identifier: Apache-2.0
 * Twenty independent steps on the shared queue `bench_mixed`. Built four times: two versions of
 * the aliases `bench_red` and `bench_blue`; FLOW_SLUG and FLOW_ALIAS come from the build. */
#include <pgflow/module.h>

static int32_t run(void *state, const pgf_call *call)
{
    (void)state;
    (void)call;
    return PGF_OK;
}

#define STEP(name)                                                                                 \
    {                                                                                              \
        .slug = (name), .queue = "bench_mixed", .run = run                                         \
    }

static const pgf_step steps[] = {
    STEP("s01"), STEP("s02"), STEP("s03"), STEP("s04"), STEP("s05"), STEP("s06"), STEP("s07"),
    STEP("s08"), STEP("s09"), STEP("s10"), STEP("s11"), STEP("s12"), STEP("s13"), STEP("s14"),
    STEP("s15"), STEP("s16"), STEP("s17"), STEP("s18"), STEP("s19"), STEP("s20"),
};

PGF_EXPORT const pgf_module pgflow_module_v1 = {
    PGF_MODULE_HEADER, .flow_slug = FLOW_SLUG,         .alias = FLOW_ALIAS,
    .version = "1",    .queue_mode = PGF_QUEUE_ROUTED, .steps = PGF_ARRAY(steps)};
