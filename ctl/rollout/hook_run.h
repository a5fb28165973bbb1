/*
 * One hook as a process group of its own, which ends with its driver.
 *
 * Between the two stands a keeper, a child that ends the group when the hook's
 * first process ends, when it is told to, or when the driver dies. The keeper has
 * the driver's descriptors, its connection too: the lock of a killed driver is free
 * only when no hook of it is left.
 */
#ifndef PGFLOW_CTL_ROLLOUT_HOOK_RUN_H
#define PGFLOW_CTL_ROLLOUT_HOOK_RUN_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct hook_run {
    const char *const *words;
    const char *hook, *function, *deployment; /* its environment: ROLLOUT_HOOK and so on */
    uint64_t timeout_ms;
    /* Asked each second: false ends the hook. */
    bool (*may_go_on)(void *ctx);
    void *ctx;

    /* What came of it. */
    struct buf out, err; /* the first of what it printed */
    int status;          /* as a shell has it: 128 + the signal */
    uint64_t took_ms;
    bool timed_out, was_ended;
};

/* Until its process group is ended. False: it could not be started, and the error
 * is set. hook_run_free in any case. */
bool hook_run(struct hook_run *run, struct error *error) MUST_CHECK;
void hook_run_free(struct hook_run *run);

#endif
