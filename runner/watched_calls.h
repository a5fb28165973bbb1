/*
 * Functions of libc that change what residue_deep() looks at. Its dozens of system calls would cost
 * a short task as much as the task itself; so the runner exports a function of each of these names
 * that notes the call and jumps on into libc. The dynamic loader finds the program's own functions
 * first, so a module and its libraries reach them as they would libc's. Who makes system calls
 * without libc is not noticed, nor is libc itself: a deep look at times makes up for that.
 */
#ifndef PGFLOW_RUNNER_WATCHED_CALLS_H
#define PGFLOW_RUNNER_WATCHED_CALLS_H

#include <stdbool.h>

/* Is every one of them ours? Not in a build with sanitizers, on a machine that this was not written
 * for, or where somebody preloads a function of the name. */
bool watched_calls_work(void);

/* Was one called since the last question? */
bool watched_calls_seen(void);

#endif
