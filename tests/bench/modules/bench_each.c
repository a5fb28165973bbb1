/* SPDX-License-Identifier: Apache-2.0
 * One root map whose handler gives its element's length: flow `bench_each`. */
#include <pgflow/module.h>
#include <stdio.h>

static int32_t measure(void *state, const pgf_call *call)
{
    char text[24];
    int length = snprintf(text, sizeof text, "%zu", call->input.len);
    (void)state;
    return call->write(call, text, (size_t)length) == 0 ? PGF_OK : PGF_PERMANENT;
}

static const pgf_step steps[] = {{.slug = "item", .kind = PGF_STEP_MAP, .run = measure}};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "bench_each",
                                                .version = "1", .steps = PGF_ARRAY(steps)};
