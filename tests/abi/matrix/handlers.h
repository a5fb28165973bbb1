/* SPDX-License-Identifier: Apache-2.0
 * A module of two files, both of which include the ABI header. */
#ifndef PGFLOW_TESTS_ABI_HANDLERS_H
#define PGFLOW_TESTS_ABI_HANDLERS_H

#include <pgflow/module.h>

int32_t run_single(void *state, const pgf_call *call);
int32_t run_map(void *state, const pgf_call *call);
int32_t run_json(void *state, const pgf_call *call);
int32_t start(const pgf_host *host, void **state);
void finish(void *state);
const void *find_extension(const char *id);

#endif
