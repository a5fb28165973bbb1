/* SPDX-License-Identifier: Apache-2.0
 * Built with the header of 1.0, with the one of now, and with one that has a field more at the
 * end of each struct. `ask` says what it sees of the host; `later` has its own options. */
#include <pgflow/module.h>
#include <stdio.h>

#ifdef NEXT
#define HAS_NEXT(p, type) (PGF_HAS(p, type, next) ? "yes" : "no")
#else
#define HAS_NEXT(p, type) "unknown"
#endif

static int32_t ask(void *state, const pgf_call *call)
{
    char text[256];
    int size;
    (void)state;
    size = snprintf(text, sizeof text,
                    "{\"module\": %u, \"host\": %u, \"call\": \"%s\", \"services\": \"%s\", "
                    "\"attempts\": %d}",
                    PGF_ABI_MINOR, call->host->abi_minor, HAS_NEXT(call, pgf_call),
                    HAS_NEXT(call->host, pgf_host), call->max_attempts);
    return call->is_cancelled(call) || call->write(call, text, (size_t)size) ? PGF_PERMANENT
                                                                             : PGF_OK;
}

static const pgf_options later_options = {
    .struct_size = sizeof(pgf_options), .max_attempts = PGF_INT(7), .start_delay_s = PGF_INT(5)};

static const char *const after_ask[] = {"ask", NULL};

static const pgf_step steps[] = {
    {.struct_size = sizeof(pgf_step), .slug = "ask", .run = ask},
    {.slug = "later", .deps = after_ask, .options = &later_options, .run = ask},
};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .needs_minor = NEEDS_MINOR,
                                                .flow_slug = "versions", .steps = PGF_ARRAY(steps)};
