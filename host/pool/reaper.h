/*
 * Ends and reaps the processes that runners leave behind (orphans.h). libuv reaps the children that
 * it spawned, by pid, and must go on to do so; this takes only the others.
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

/* Becomes the subreaper and watches SIGCHLD on the loop. `memory`: the runners' limit of address
 * space, 0 for none. NULL: error. */
struct reaper *reaper_create(uv_loop_t *loop, reaper_is_ours is_ours, void *context, size_t memory,
                             struct error *error) MUST_CHECK;

/* A runner has ended: kills what it left behind, and what those leave, as they die. */
void reaper_sweep(struct reaper *reaper);

/* No runner is left: waits until nothing of theirs is left either (a second at most), closes its
 * handles, frees it, then calls `closed`, which may be NULL. */
void reaper_close(struct reaper *reaper, void (*closed)(void *context), void *context);

#endif
