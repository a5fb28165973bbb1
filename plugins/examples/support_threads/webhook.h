/* SPDX-License-Identifier: Apache-2.0
 * Posts JSON to the webhook whose address is in SUPPORT_WEBHOOK_URL. The address is a credential:
 * who has it can post. No error, log line or result holds any part of it. */
#ifndef SUPPORT_THREADS_WEBHOOK_H
#define SUPPORT_THREADS_WEBHOOK_H

#include <pgflow/module.h>

struct webhook;

/* One for a process; it keeps its connection from call to call. NULL: libcurl does not start.
 * Without an address it is made all the same: a host of the other queue needs none. */
void *webhook_create(void);
void webhook_destroy(void *webhook);

/* PGF_OK: it answered 2xx, *status. Otherwise what the handler returns, with the error set:
 * PGF_ERROR where a later attempt may do better, at the time that the answer asked for;
 * PGF_PERMANENT; PGF_CANCELLED. It ends before the call's deadline. */
int32_t webhook_post(struct webhook *webhook, const pgf_call *call, const char *key,
                     const char *json, long *status);

#endif
