/* SPDX-License-Identifier: Apache-2.0
 * The smallest flow that works. `greet` greets the run's input, `sign` signs what `greet` gave:
 *     pgflowctl start hello --input '"Ada"' --wait */
#include <pgflow/module.h>
#include <string.h>

static int wrap(const pgf_call *call, const char *before, pgf_str json, const char *after)
{
    return call->write(call, before, strlen(before)) || call->write(call, json.ptr, json.len) ||
           call->write(call, after, strlen(after));
}

static int32_t greet(void *state, const pgf_call *call)
{
    (void)state;
    return wrap(call, "{\"hello\": ", call->flow_input, "}") ? PGF_PERMANENT : PGF_OK;
}

static int32_t sign(void *state, const pgf_call *call)
{
    (void)state; /* the input is {"greet": {"hello": "Ada"}} */
    return wrap(call, "{\"letter\": ", call->input, ", \"from\": \"pgflow\"}") ? PGF_PERMANENT
                                                                               : PGF_OK;
}

static const char *const after_greet[] = {"greet", NULL};

static const pgf_step steps[] = {
    {.slug = "greet", .run = greet},
    {.slug = "sign", .deps = after_greet, .run = sign},
};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "hello",
                                                .version = "1.0.0", .steps = PGF_ARRAY(steps)};
