/*
 * What a task leaves in its process, for the next one. After each handler the runner puts back
 * what it can (timers, signals, working folder, umask, priority) and tells what it can not
 * (environment, locale, limits ...); then it runs no further task and the host starts another.
 *
 * Data flow: residue_open() notes the state after `init`. After each handler residue_clear() has a
 * quick look at what is cheap to see, and a deep one at the rest: when a function of libc was
 * called that could have changed it (watched_calls.h), after a handler that took a millisecond, and
 * after every 64th. Signal handlers, threads, descriptors and children are counted after the first
 * task: runtimes make theirs when they are first used. More of them later are what the task left,
 * unless the module says that it keeps growing.
 *
 * A handler gets four system calls more for it when it calls nothing that is watched.
 */
#ifndef PGFLOW_RUNNER_RESIDUE_H
#define PGFLOW_RUNNER_RESIDUE_H

#include "wire/residue.h"

#include <stdbool.h>

/* `may_grow`: PGF_MAY_GROW. What cannot be read (no /proc, no memory) is not looked at. */
void residue_open(bool may_grow);

/* Just before a handler: what was called so far was not called by it. */
void residue_begin(void);

/* Bits of wire/residue.h: what the task left and is there still. */
uint32_t residue_clear(uint64_t elapsed_us);

#endif
