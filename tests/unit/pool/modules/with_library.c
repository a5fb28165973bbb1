/* SPDX-License-Identifier: Apache-2.0
 * A module that needs a library beside it, or in a folder above. */
#include <pgflow/module.h>

#include <stdio.h>

int pgf_test_dependency_answer(void);

static int32_t run(void *state, const pgf_call *call)
{
    char text[16];
    int size = snprintf(text, sizeof text, "%d", pgf_test_dependency_answer());
    (void)state;
    return call->write(call, text, (size_t)size) == 0 ? PGF_OK : PGF_ERROR;
}

static const pgf_step steps[] = {{.slug = "ask", .run = run}};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = FLOW_SLUG,
                                                .steps = PGF_ARRAY(steps)};
