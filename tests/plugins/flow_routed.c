/* SPDX-License-Identifier: Apache-2.0
 * Versions of one flow over two shared queues: alias `routed`, concrete slugs
 * `routed_v1` to `routed_v3`, queues `routed_main` (prepare, work; from V2 on: check) and
 * `routed_mail` (deliver). Each step's result names the version that ran it. Built once
 * more as `routed_v1_patched`: the same slug and shape, another version, other bytes. */
#include "support.h"

#if ROUTED_VERSION == 1
#define FLOW_SLUG "routed_v1"
#ifdef PATCHED
#define VERSION "1.0.1"
#else
#define VERSION "1.0.0"
#endif
#elif ROUTED_VERSION == 2
#define FLOW_SLUG "routed_v2"
#define VERSION "2.0.0"
#else
#define FLOW_SLUG "routed_v3"
#define VERSION "3.0.0"
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

static const char *const after_prepare[] = {"prepare", NULL};
#if ROUTED_VERSION == 1
static const char *const before_deliver[] = {"work", NULL};
#else
static const char *const before_deliver[] = {"work", "check", NULL};
#endif

static const pgf_step steps[] = {
    {.slug = "prepare", .queue = "routed_main", .run = run},
    {.slug = "work",
     .deps = after_prepare,
     .queue = "routed_main",
     .flags = PGF_WANTS_FLOW_INPUT,
     .run = run},
#if ROUTED_VERSION >= 2
    {.slug = "check",
     .deps = after_prepare,
     .queue = "routed_main",
     .flags = PGF_WANTS_FLOW_INPUT,
     .run = run},
#endif
    {.slug = "deliver",
     .deps = before_deliver,
     .queue = "routed_mail",
     .flags = PGF_WANTS_FLOW_INPUT,
     .run = run},
};

PGF_EXPORT const pgf_module pgflow_module_v1 = {
    PGF_MODULE_HEADER,  .flow_slug = FLOW_SLUG,         .alias = "routed",
    .version = VERSION, .queue_mode = PGF_QUEUE_ROUTED, .steps = PGF_ARRAY(steps),
    .init = init};
