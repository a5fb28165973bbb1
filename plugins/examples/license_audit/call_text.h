/* SPDX-License-Identifier: Apache-2.0
 * What a handler says: the error of its attempt and lines for the log, as printf takes them.
 * JSON is the SDK's, <pgflow/json.h>. */
#ifndef LICENSE_AUDIT_CALL_TEXT_H
#define LICENSE_AUDIT_CALL_TEXT_H

#include <pgflow/module.h>

/* Sets the error text and returns `result`, so that a handler can end with it. */
int32_t call_fail(const pgf_call *call, int32_t result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void call_log(const pgf_call *call, int32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
