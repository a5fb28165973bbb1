/* SPDX-License-Identifier: Apache-2.0
 * The error of an attempt, as printf takes it. It reaches the database and the log: it never
 * holds what people wrote, nor the address of the webhook. */
#ifndef SUPPORT_THREADS_CALL_ERROR_H
#define SUPPORT_THREADS_CALL_ERROR_H

#include <pgflow/module.h>

/* Returns `result`, so that a handler can end with it. */
int32_t call_error(const pgf_call *call, int32_t result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
