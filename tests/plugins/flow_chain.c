/* SPDX-License-Identifier: Apache-2.0
 * Three steps in a row, each adding its name to what the one before gave. Queue mode
 * flow; built as `chain`, with each step on its private queue as `chain_private`, and with
 * another shape under the slug of `chain` as `chain_changed`. */
#include "support.h"

#ifndef FLOW_SLUG
#define FLOW_SLUG "chain"
#define QUEUE_MODE PGF_QUEUE_FLOW
#endif

static int32_t run(void *state, const pgf_call *call)
{
    (void)state;
    work_as_asked(call);
    bool ok = put_format(call, "{\"step\": \"%.*s\", \"after\": ", (int)call->step_slug.len,
                         call->step_slug.ptr) &&
              call->write(call, call->input.ptr, call->input.len) == 0 && put(call, "}");
    return ok ? PGF_OK : PGF_PERMANENT;
}

static const char *const after_first[] = {"first", NULL};
static const char *const after_second[] = {"second", NULL};

static const pgf_step steps[] = {
    {.slug = "first", .run = run},
    {.slug = "second", .deps = after_first, .flags = PGF_WANTS_FLOW_INPUT, .run = run},
#ifdef CHANGED_SHAPE
    {.slug = "third",
     .deps = after_first,
     .flags = PGF_WANTS_FLOW_INPUT,
     .when_exhausted = "skip",
     .run = run},
    {.slug = "fourth", .deps = after_second, .flags = PGF_WANTS_FLOW_INPUT, .run = run},
#else
    {.slug = "third", .deps = after_second, .flags = PGF_WANTS_FLOW_INPUT, .run = run},
#endif
};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = FLOW_SLUG,
                                                .version = "1", .queue_mode = QUEUE_MODE,
                                                .steps = PGF_ARRAY(steps)};
