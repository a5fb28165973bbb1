/* SPDX-License-Identifier: Apache-2.0
 * A descriptor in C++: all initialisers by position. */
#include "handlers.h"
#include "layout.h"

static const pgf_options options = {sizeof(pgf_options), 0, PGF_INT(5), PGF_INT(1), {0, 0}, {0, 0}};

static const char *const after_one[] = {"one", nullptr};

static const pgf_step steps[] = {
    {sizeof(pgf_step), PGF_STEP_SINGLE, 0, 0, "one", nullptr, nullptr, &options, nullptr, nullptr,
     nullptr, nullptr, nullptr, run_single},
    {sizeof(pgf_step), PGF_STEP_MAP, 0, 0, "each", after_one, nullptr, nullptr, nullptr, nullptr,
     nullptr, nullptr, nullptr, run_map},
};

PGF_EXPORT const pgf_module pgflow_module_v1 = {
    PGF_MODULE_HEADER, 0,     0,      "matrix",      nullptr, nullptr, PGF_QUEUE_FLOW, 0, nullptr,
    PGF_ARRAY(steps),  start, finish, find_extension};
