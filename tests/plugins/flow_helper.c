/* SPDX-License-Identifier: Apache-2.0
 * A flow whose code is partly in libpgf_test_helper.so, which lies beside the module. */
#include "support.h"

int pgf_test_helper(int n);

static int32_t run(void *state, const pgf_call *call)
{
    (void)state;
    work_as_asked(call);
    return put_format(call, "%d", pgf_test_helper(21)) ? PGF_OK : PGF_PERMANENT;
}

static const pgf_step steps[] = {{.slug = "only", .run = run}};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "with_helper",
                                                .version = "1", .steps = PGF_ARRAY(steps)};
