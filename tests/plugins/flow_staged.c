/* SPDX-License-Identifier: Apache-2.0
 * Versions of one flow on private queues, one a step: alias `staged`, concrete slugs
 * `staged_v1`, `staged_v2`, queues `staged_v1__first` … V2 has a third step. Each step's
 * result names the version that ran it. */
#include "support.h"

#if STAGED_VERSION == 1
#define FLOW_SLUG "staged_v1"
#define VERSION "1.0.0"
#else
#define FLOW_SLUG "staged_v2"
#define VERSION "2.0.0"
#endif

static int32_t init(const pgf_host *host, void **state)
{
    (void)host;
    (void)state;
    return moody_init(FLOW_SLUG);
}

static int32_t run(void *state, const pgf_call *call)
{
    (void)state;
    work_as_asked(call);
    return put_format(call, "{\"version\": \"%s\", \"step\": \"%.*s\"}", VERSION,
                      (int)call->step_slug.len, call->step_slug.ptr)
               ? PGF_OK
               : PGF_PERMANENT;
}

static const char *const after_first[] = {"first", NULL};
#if STAGED_VERSION == 2
static const char *const after_second[] = {"second", NULL};
#endif

static const pgf_step steps[] = {
    {.slug = "first", .run = run},
    {.slug = "second", .deps = after_first, .flags = PGF_WANTS_FLOW_INPUT, .run = run},
#if STAGED_VERSION == 2
    {.slug = "third", .deps = after_second, .flags = PGF_WANTS_FLOW_INPUT, .run = run},
#endif
};

PGF_EXPORT const pgf_module pgflow_module_v1 = {
    PGF_MODULE_HEADER,  .flow_slug = FLOW_SLUG,       .alias = "staged",
    .version = VERSION, .queue_mode = PGF_QUEUE_STEP, .steps = PGF_ARRAY(steps),
    .init = init};
