#include <pgflow/module.h>

int32_t run_that_nobody_wrote(void *state, const pgf_call *call);

static const pgf_step steps[] = {{.slug = "only", .run = run_that_nobody_wrote}};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "unresolved",
                                                .steps = PGF_ARRAY(steps)};
