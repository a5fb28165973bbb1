#include <pgflow/module.h>

int outside_helper(int n);

int32_t visible_by_mistake(void *state, const pgf_call *call);

int32_t visible_by_mistake(void *state, const pgf_call *call)
{
    (void)state;
    return outside_helper(call->task_index) > 0 ? PGF_OK : PGF_ERROR;
}

static const pgf_step steps[] = {{.slug = "only", .run = visible_by_mistake}};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "outside_c",
                                                .steps = PGF_ARRAY(steps)};
