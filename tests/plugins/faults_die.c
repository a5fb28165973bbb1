/* SPDX-License-Identifier: Apache-2.0
 * Handlers that end their process. */
#include "faults.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* An address that is never mapped; volatile, so that the write stays. */
static volatile char *volatile nowhere = (volatile char *)16;

int32_t fault_segv(void *state, const pgf_call *call)
{
    (void)state;
    (void)call;
    *nowhere = 1;
    return PGF_OK;
}

int32_t fault_segv_once(void *state, const pgf_call *call)
{
    if (call->attempt == 1)
        return fault_segv(state, call);
    return put_format(call, "{\"attempt\": %u}", (unsigned)call->attempt) ? PGF_OK : PGF_ERROR;
}

static int descend(volatile char *above, int depth)
{
    volatile char here[4096];
    here[0] = (char)(above[0] + 1);
    return depth > 0 ? descend(here, depth - 1) + here[0] : here[0];
}

int32_t fault_stack_overflow(void *state, const pgf_call *call)
{
    (void)state;
    volatile char top[1] = {(char)call->attempt};
    return descend(top, 1 << 30) > 0 ? PGF_OK : PGF_ERROR;
}

int32_t fault_abort(void *state, const pgf_call *call)
{
    (void)state;
    (void)call;
    abort();
}

int32_t fault_exit(void *state, const pgf_call *call)
{
    (void)state;
    exit((int)param_number(call, "status", 3));
}

int32_t fault_kill(void *state, const pgf_call *call)
{
    (void)state;
    (void)raise((int)param_number(call, "signal", SIGKILL));
    return PGF_OK;
}

int32_t fault_say_and_die(void *state, const pgf_call *call)
{
    (void)fputs("the last words of this handler\n", stderr);
    return fault_segv(state, call);
}

static void *die_after_pause(void *ms)
{
    long n = (long)(intptr_t)ms;
    struct timespec pause = {n / 1000, (n % 1000) * 1000000};
    (void)nanosleep(&pause, NULL);
    abort();
}

/* Answers, and takes its process down "ms" (100) later, when it is idle or runs another. */
int32_t fault_die_later(void *state, const pgf_call *call)
{
    (void)state;
    pthread_t thread;
    long ms = param_number(call, "ms", 100);
    if (pthread_create(&thread, NULL, die_after_pause, (void *)(intptr_t)ms) != 0)
        return PGF_ERROR;
    pthread_detach(thread);
    return put(call, "\"answered\"") ? PGF_OK : PGF_ERROR;
}
