/*
 * A last word to the host: which signal, and how large the process was, so that
 * it can tell a handler that ran into its memory limit from one with a bug.
 */
#ifndef PGFLOW_RUNNER_CRASH_NOTE_H
#define PGFLOW_RUNNER_CRASH_NOTE_H

#include "base/error.h"

#include <stdbool.h>

/* Handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT on a stack of their
 * own; each sends one CRASH frame on `fd` and dies of the same signal. */
bool crash_note_install(int fd, struct error *error) MUST_CHECK;

/* While a frame is being sent no note may be put into the middle of it. */
void crash_note_block(void);
void crash_note_unblock(void);

#endif
