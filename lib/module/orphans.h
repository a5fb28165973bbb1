/*
 * Processes that a handler left behind. While its runner lives they are below it: a runner is the
 * subreaper of what it starts. When it ends the kernel hands them to us, whatever session they made
 * for themselves, so they are found among our own children, and killed.
 *
 * Not every other child of ours is one of them. A program that starts helpers and then executes the
 * host leaves them to it, and PID 1 of a container is given whoever lost a parent there. So we
 * leave alone what was our child before the first runner, and what lacks the marks that every
 * descendant of a runner bears and cannot wipe off: no_new_privs and the limit of memory.
 */
#ifndef PGFLOW_MODULE_ORPHANS_H
#define PGFLOW_MODULE_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct orphans {
    pid_t *known; /* our children before the first runner */
    size_t known_count;
    size_t memory; /* the runners' limit of address space; 0: none */
};

/* Becomes the subreaper and looks which children are there. False: errno says why. */
bool orphans_watch(struct orphans *orphans, size_t memory);
void orphans_finish(struct orphans *orphans);
/* A child was reaped: its number may come again as somebody else's. */
void orphans_forget(struct orphans *orphans, pid_t pid);

typedef bool (*orphans_is_ours)(void *context, pid_t pid);

/* SIGKILL to each; gives how many are there, dead ones that nobody reaped included. Killing one may
 * bring us its children. */
size_t orphans_kill(const struct orphans *orphans, orphans_is_ours is_ours, void *context);

/* The same until none is left, and reaps them; for one who has no loop. A second at most: SIGKILL
 * works at once unless the kernel itself hangs. */
void orphans_end(const struct orphans *orphans);

#endif
