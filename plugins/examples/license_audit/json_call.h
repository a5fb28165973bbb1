/* SPDX-License-Identifier: Apache-2.0
 * Between the calls of the ABI and cJSON trees. After json_call_init cJSON's allocations do
 * not fail: without memory the process ends. That costs this attempt of this task and nothing
 * else, and no half-built tree can become a result. */
#ifndef LICENSE_AUDIT_JSON_CALL_H
#define LICENSE_AUDIT_JSON_CALL_H

#include <cjson/cJSON.h>
#include <pgflow/module.h>

/* pgf_module.init: needs no state. */
int32_t json_call_init(const pgf_host *host, void **state);

/* The parsed input, or the run's; cJSON_Delete() it. */
cJSON *call_input(const pgf_call *call);
cJSON *call_flow_input(const pgf_call *call);

/* Sets the error text and returns `result`, so that a handler can end with it. */
int32_t call_fail(const pgf_call *call, int32_t result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes the tree as the result and deletes it. */
int32_t call_give(const pgf_call *call, cJSON *result);

void call_log(const pgf_call *call, int32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The text of a member, or otherwise. */
const char *text_member(const cJSON *object, const char *name, const char *otherwise);

#endif
