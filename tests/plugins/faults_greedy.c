/* SPDX-License-Identifier: Apache-2.0
 * Handlers that use too much time or memory. Their steps time out after 1 s. */
#include "faults.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

int32_t fault_spin(void *state, const pgf_call *call)
{
    (void)state;
    (void)call;
    for (volatile unsigned long turns = 0;; turns++)
        continue;
}

int32_t fault_spin_politely(void *state, const pgf_call *call)
{
    (void)state;
    while (!call->is_cancelled(call))
        usleep(1000);
    return PGF_CANCELLED;
}

int32_t fault_stop(void *state, const pgf_call *call)
{
    (void)state;
    (void)raise(SIGSTOP);
    return put(call, "\"continued\"") ? PGF_OK : PGF_ERROR;
}

int32_t fault_sleep(void *state, const pgf_call *call)
{
    (void)state;
    work_as_asked(call);
    return put_format(call, "%ld", param_number(call, "ms", 0)) ? PGF_OK : PGF_ERROR;
}

/* Takes "mib" of memory and touches it; what it cannot get kills it, as in most C code. */
static char *take(long mib)
{
    char *all = malloc((size_t)mib * MIB);
    if (all == NULL)
        abort();
    memset(all, 1, (size_t)mib * MIB);
    return all;
}

int32_t fault_hog(void *state, const pgf_call *call)
{
    (void)state;
    for (long taken = 0; taken < param_number(call, "mib", 1 << 20); taken += 16)
        (void)take(16);
    return put(call, "\"had enough\"") ? PGF_OK : PGF_ERROR;
}

/* Loses "mib" (32) a call and succeeds: seen only by a watch on the process. */
int32_t fault_leak(void *state, const pgf_call *call)
{
    static char *volatile last;
    (void)state;
    last = take(param_number(call, "mib", 32));
    return put_format(call, "{\"pid\": %ld}", (long)getpid() + (last == NULL)) ? PGF_OK : PGF_ERROR;
}

int32_t fault_scratch(void *state, const pgf_call *call)
{
    (void)state;
    size_t size = (size_t)param_number(call, "mib", 8) * MIB;
    char *scratch = call->alloc(call, size);
    if (scratch == NULL) {
        call->set_error(call, "no scratch memory", 17);
        return PGF_PERMANENT;
    }
    memset(scratch, 1, size);
    return put_format(call, "%zu", size) ? PGF_OK : PGF_ERROR;
}
