/* SPDX-License-Identifier: Apache-2.0
 * A descriptor in C: designated initialisers, what is not named is zero. */
#include "handlers.h"
#include "layout.h"

static const pgf_options options = {.max_attempts = PGF_INT(5), .timeout_s = PGF_INT(2)};

static const char *const after_one[] = {"one", NULL};

static const pgf_step steps[] = {
    {.slug = "one", .options = &options, .run = run_single},
    {.slug = "each", .kind = PGF_STEP_MAP, .deps = after_one, .run = run_map},
};

PGF_EXPORT const pgf_module pgflow_module_v1 = {
    PGF_MODULE_HEADER, .flow_slug = "matrix", .steps = PGF_ARRAY(steps),
    .init = start,     .fini = finish,        .extension = find_extension};
