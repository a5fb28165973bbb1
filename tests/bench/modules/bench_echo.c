/* SPDX-License-Identifier: Apache-2.0
 * One step that gives the run's input back: flow `bench_echo`. */
#include <pgflow/module.h>

static int32_t echo(void *state, const pgf_call *call)
{
    (void)state;
    return call->write(call, call->flow_input.ptr, call->flow_input.len) == 0 ? PGF_OK
                                                                              : PGF_PERMANENT;
}

static const pgf_step steps[] = {{.slug = "echo", .run = echo}};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "bench_echo",
                                                .version = "1", .steps = PGF_ARRAY(steps)};
