/* SPDX-License-Identifier: Apache-2.0
 * One step that gives the time at which its handler began, in ns since 1970 on the clock that
 * every process of the machine shares: flow `bench_clock`. */
#include <inttypes.h>
#include <pgflow/module.h>
#include <stdio.h>
#include <time.h>

static int32_t tell_time(void *state, const pgf_call *call)
{
    struct timespec now;
    char text[24];
    (void)clock_gettime(CLOCK_REALTIME, &now);
    int length = snprintf(text, sizeof text, "%" PRId64,
                          (int64_t)now.tv_sec * 1000000000 + (int64_t)now.tv_nsec);
    (void)state;
    return call->write(call, text, (size_t)length) == 0 ? PGF_OK : PGF_PERMANENT;
}

static const pgf_step steps[] = {{.slug = "clock", .run = tell_time}};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "bench_clock",
                                                .version = "1", .steps = PGF_ARRAY(steps)};
