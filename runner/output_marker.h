/*
 * Marks in the runner's stdout and stderr where the output of one task ends
 * (struct frame_marker), so that the host can tell apart the output of tasks
 * that follow each other at once.
 */
#ifndef PGFLOW_RUNNER_OUTPUT_MARKER_H
#define PGFLOW_RUNNER_OUTPUT_MARKER_H

#include "base/error.h"
#include "wire/cancel_page.h"

#include <stdint.h>

/* Makes stdout line-buffered and keeps descriptors of both pipes, which a
 * handler that redirects 1 or 2 does not lose. */
bool output_marker_init(const struct cancel_page *page, struct error *error) MUST_CHECK;

/* Writes what stdout and stderr still hold, and waits for room in their pipes. */
void output_flush(void);

/* Before a handler runs. */
void output_marker_begin(void);

/* Flushes, and marks each pipe into which the task may have printed. Returns FRAME_RESULT_STDOUT,
 * FRAME_RESULT_STDERR, both or 0. */
uint32_t output_marker_end(uint64_t number);

#endif
