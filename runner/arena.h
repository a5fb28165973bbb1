/*
 * Scratch memory for one call: handed out in pieces, dropped at once.
 */
#ifndef PGFLOW_RUNNER_ARENA_H
#define PGFLOW_RUNNER_ARENA_H

#include <stddef.h>
#include <sys/queue.h>

struct arena_chunk;

struct arena {
    SLIST_HEAD(, arena_chunk) chunks; /* newest first; zeroed: empty */
};

/* Aligned for any type, not initialised; NULL when there is no memory. */
void *arena_alloc(struct arena *arena, size_t size);

/* Drops every piece; keeps one chunk of the usual size for the next call. */
void arena_reset(struct arena *arena);

/* Frees all of it. */
void arena_finish(struct arena *arena);

#endif
