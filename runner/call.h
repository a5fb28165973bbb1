/*
 * One call of a handler: the pgf_call that it gets, and what it did with it.
 * Memory is kept from call to call, up to a bound.
 */
#ifndef PGFLOW_RUNNER_CALL_H
#define PGFLOW_RUNNER_CALL_H

#include "base/buf.h"
#include "runner/arena.h"
#include "wire/cancel_page.h"
#include "wire/frame.h"

#include <pgflow/module.h>

struct call {
    pgf_call abi; /* abi.ctx points to this struct */
    const struct cancel_page *page;
    uint64_t number;
    struct buf output; /* maximum: the payload limit */
    bool over_limit;
    char error[LIMIT_ERROR_TEXT]; /* cleaned; NUL-terminated */
    size_t error_size;
    int64_t retry_after_s; /* -1: not asked for */
    struct arena arena;
};

void call_init(struct call *call, const struct cancel_page *page, const pgf_host *host,
               size_t max_payload);
void call_finish(struct call *call);

/* Sets everything up for one task. The texts are borrowed until call_end. */
void call_begin(struct call *call, uint64_t number, const struct frame_task *task,
                const char *input, const char *flow_input);

/* Drops output, error and scratch memory. */
void call_end(struct call *call);

#endif
