/*
 * What a host counts over its life, for /metrics: results by queue, flow, step and outcome, times
 * as histograms, claimed messages, the guard. Pure: no clock, no loop, no database; the worker
 * calls in and renders.
 *
 * Memory and labels are bounded: one record a step of the given modules, made at startup. A step
 * that this host never ran has no histograms in the text, only its zero counters.
 */
#ifndef PGFLOW_OBSERVE_METRICS_H
#define PGFLOW_OBSERVE_METRICS_H

#include "base/buf.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* What became of a task that this host had claimed. */
enum metrics_outcome {
    METRICS_COMPLETED,
    METRICS_RETRYING, /* failed, to be tried again */
    METRICS_FAILED,   /* for good */
    METRICS_SKIPPED,  /* failed for good, its step is skipped */
    METRICS_REFUSED,  /* the database cannot store its output, or its result */
    METRICS_AGAIN,    /* recorded before: the first answer was lost */
    METRICS_LATE,     /* given to somebody else meanwhile */
    METRICS_GONE,     /* its run was deleted */
    METRICS_RELEASED, /* released to the queue, attempt not counted */
    METRICS_DROPPED,  /* its run ended meanwhile: nothing to report */
    METRICS_OUTCOMES
};

/* What a claim said of one message. */
enum metrics_message {
    METRICS_MESSAGE_STARTED,
    METRICS_MESSAGE_BUSY,
    METRICS_MESSAGE_STALE,
    METRICS_MESSAGE_FOREIGN,
    METRICS_MESSAGE_HELD,
    METRICS_MESSAGE_UNSUPPORTED,
    METRICS_MESSAGES
};

/* The calls whose round trips are worth a histogram. */
enum metrics_call {
    METRICS_CALL_CLAIM,
    METRICS_CALL_FINISH,
    METRICS_CALL_RELEASE,
    METRICS_CALL_HEARTBEAT,
    METRICS_CALL_MAINTAIN,
    METRICS_CALLS
};

struct metrics;

/* `queue` is borrowed, as are the names of the steps. NULL: no memory. */
struct metrics *metrics_create(const char *queue);
/* Takes NULL. */
void metrics_destroy(struct metrics *metrics);

/* The next step; its number counts from 0. At startup only. False: no memory. */
bool metrics_add_step(struct metrics *metrics, const char *flow, const char *step) MUST_CHECK;

void metrics_count_task(struct metrics *metrics, size_t step, enum metrics_outcome outcome);
void metrics_count_message(struct metrics *metrics, enum metrics_message message);
void metrics_count_guard(struct metrics *metrics);
/* From when the task's message was visible to the begin of its handler. */
void metrics_observe_wait(struct metrics *metrics, size_t step, uint64_t ns);
/* In the handler, however it ended. */
void metrics_observe_run(struct metrics *metrics, size_t step, uint64_t ns);
void metrics_observe_call(struct metrics *metrics, enum metrics_call call, uint64_t ns);

void metrics_render(const struct metrics *metrics, struct buf *text);

#endif
