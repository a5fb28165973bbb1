/*
 * Reaps the processes that runners leave behind. The host is their subreaper
 * (or PID 1 of a container), so they become its children when their parent
 * dies. libuv reaps the children that it spawned, by pid, and must go on to do
 * so; this takes only the others.
 */
#ifndef PGFLOW_POOL_REAPER_H
#define PGFLOW_POOL_REAPER_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

struct reaper;

/* Is this pid a child that libuv will reap? */
typedef bool (*reaper_is_ours)(void *context, pid_t pid);

/* Becomes the subreaper and watches SIGCHLD on the loop. NULL: error. */
struct reaper *reaper_create(uv_loop_t *loop, reaper_is_ours is_ours, void *context,
                             struct error *error) MUST_CHECK;

/* Closes its handles, frees it, then calls `closed`, which may be NULL. */
void reaper_close(struct reaper *reaper, void (*closed)(void *context), void *context);

/* Children reaped since the start. */
unsigned long reaper_count(const struct reaper *reaper);

#endif
