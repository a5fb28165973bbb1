/*
 * What a driver tells while it works: a line for people, or one JSON object a line.
 */
#ifndef PGFLOW_CTL_ROLLOUT_DRIVER_REPORT_H
#define PGFLOW_CTL_ROLLOUT_DRIVER_REPORT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct report {
    bool json;
    const char *deployment;
};

/* `event`: begin, did, would, waits, hook, ask, note, stopped, done. `text` may have
 * several lines. */
void report_event(const struct report *report, const char *step, const char *event,
                  const char *text);

/* A wait: how long so far, and at most. */
void report_wait(const struct report *report, const char *step, const char *text,
                 uint64_t waited_ms, int limit_s);

#endif
