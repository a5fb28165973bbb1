/*
 * Scratch memory; see arena.h.
 */
#include "runner/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

enum { CHUNK_SIZE = 64 * 1024 };

struct arena_chunk {
    SLIST_ENTRY(arena_chunk) link;
    size_t used, size; /* bytes of `data` */
    alignas(max_align_t) char data[];
};

static struct arena_chunk *add_chunk(struct arena *arena, size_t size)
{
    struct arena_chunk *chunk;

    if (size > SIZE_MAX - sizeof *chunk)
        return NULL;
    chunk = malloc(sizeof *chunk + size);
    if (chunk == NULL)
        return NULL;
    chunk->used = 0;
    chunk->size = size;
    SLIST_INSERT_HEAD(&arena->chunks, chunk, link);
    return chunk;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    const size_t align = alignof(max_align_t);
    struct arena_chunk *chunk = SLIST_FIRST(&arena->chunks);
    void *piece;

    if (size > SIZE_MAX - align)
        return NULL;
    size = size == 0 ? align : (size + align - 1) / align * align;
    if (chunk == NULL || chunk->size - chunk->used < size)
        chunk = add_chunk(arena, size > CHUNK_SIZE ? size : CHUNK_SIZE);
    if (chunk == NULL)
        return NULL;
    piece = chunk->data + chunk->used;
    chunk->used += size;
    return piece;
}

void arena_reset(struct arena *arena)
{
    struct arena_chunk *kept = NULL;

    while (!SLIST_EMPTY(&arena->chunks)) {
        struct arena_chunk *chunk = SLIST_FIRST(&arena->chunks);

        SLIST_REMOVE_HEAD(&arena->chunks, link);
        if (kept == NULL && chunk->size == CHUNK_SIZE)
            kept = chunk;
        else
            free(chunk);
    }
    if (kept != NULL) {
        kept->used = 0;
        SLIST_INSERT_HEAD(&arena->chunks, kept, link);
    }
}

void arena_finish(struct arena *arena)
{
    arena_reset(arena);
    free(SLIST_FIRST(&arena->chunks));
    SLIST_INIT(&arena->chunks);
}
