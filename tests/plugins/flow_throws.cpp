/* SPDX-License-Identifier: Apache-2.0
 * A flow in C++ whose handler lets an exception out: the process ends by terminate(). */
#include <pgflow/module.h>

#include <stdexcept>

static int32_t run(void *, const pgf_call *call)
{
    if (call->attempt >= 1)
        throw std::runtime_error("nobody catches this");
    return PGF_OK;
}

static const pgf_step steps[] = {{sizeof(pgf_step), PGF_STEP_SINGLE, 0, 0, "only", nullptr, nullptr,
                                  nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, run}};

PGF_EXPORT const pgf_module pgflow_module_v1 = {
    PGF_MODULE_HEADER, 0,       0,       "throws", nullptr, "1", PGF_QUEUE_FLOW, 0, nullptr,
    PGF_ARRAY(steps),  nullptr, nullptr, nullptr};
