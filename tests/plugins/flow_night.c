/* SPDX-License-Identifier: Apache-2.0
 * A night that went wrong: alias `night`, versions `night_v1` and `night_v2`. The run's input has
 * "cause": V1 fails in `fetch` by "url", in `parse` by "format", in `store` by "disk"; V2 by "url"
 * alone. Contracts are stated and equal, so a run may go on from one version to the other. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#if NIGHT_VERSION == 1
#define FLOW_SLUG "night_v1"
#else
#define FLOW_SLUG "night_v2"
#endif

static bool has_cause(const pgf_call *call, const char *cause)
{
    char given[32] = "";
    return param_text(call, "cause", given, sizeof given) && strcmp(given, cause) == 0;
}

static int32_t fail(const pgf_call *call, const char *format)
{
    char text[128];
    int size = snprintf(text, sizeof text, format, param_number(call, "n", 0));
    call->set_error(call, text, (size_t)size);
    return PGF_PERMANENT;
}

static int32_t run(void *state, const pgf_call *call)
{
    char step[16];
    (void)state;
    (void)snprintf(step, sizeof step, "%.*s", (int)call->step_slug.len, call->step_slug.ptr);
    work_as_asked(call);
    if (strcmp(step, "fetch") == 0 && has_cause(call, "url"))
        return fail(call, "the host of page %ld is unknown");
#if NIGHT_VERSION == 1
    if (strcmp(step, "parse") == 0 && has_cause(call, "format"))
        return fail(call, "row %ld has no price");
    if (strcmp(step, "store") == 0 && has_cause(call, "disk"))
        return fail(call, "no space left for document %ld");
#endif
    return put_format(call, "{\"by\": \"%s\"}", FLOW_SLUG) ? PGF_OK : PGF_PERMANENT;
}

static const char *const after_fetch[] = {"fetch", NULL};
static const char *const after_parse[] = {"parse", NULL};

#define STEP(name, ...)                                                                            \
    {                                                                                              \
        .slug = name, .flags = PGF_WANTS_FLOW_INPUT, .contract = name " 1", .run = run,            \
        __VA_ARGS__                                                                                \
    }

static const pgf_step steps[] = {
    STEP("fetch", .deps = NULL),
    STEP("parse", .deps = after_fetch),
    STEP("store", .deps = after_parse),
};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = FLOW_SLUG,
                                                .alias = "night", .version = "1",
                                                .steps = PGF_ARRAY(steps)};
