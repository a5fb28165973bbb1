/*
 * From an address to what PQconnectStartParams takes, with every host name
 * resolved on libuv's threads, because libpq would block the loop for it.
 */
#ifndef PGFLOW_DB_RESOLVE_H
#define PGFLOW_DB_RESOLVE_H

#include <stddef.h>
#include <uv.h>

struct db_address;
struct resolve;

/* One entry a target that libpq shall try, in order; comma-separated lists of
 * equal length, or NULL where libpq's default serves. */
struct resolved {
    char *hosts;
    char *hostaddrs;
    char *ports;
};

/* `resolved` is NULL when no name gave an address; `reason` says why then. Both
 * are borrowed. */
typedef void (*resolve_done)(void *ctx, const struct resolved *resolved, const char *reason);

/* `rotation`: the target number (modulo their count) to begin with, so that the next
 * attempt is not held up by the same dead one. Calls `done` once, possibly before it returns; then
 * the resolve is gone. NULL when `done` was called already. */
struct resolve *resolve_start(uv_loop_t *loop, const struct db_address *address, unsigned rotation,
                              resolve_done done, void *ctx);

/* `done` will not be called. A lookup that runs cannot be stopped; it ends by
 * itself and its request keeps the loop until then. */
void resolve_cancel(struct resolve *resolve);

#endif
