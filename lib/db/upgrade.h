/*
 * A database of an earlier version under running work: expand, statement by
 * statement, then the flip; the contract later; and the way back.
 *
 * Every statement is a transaction of its own, waits for no lock longer than
 * LIMIT_UPGRADE_LOCK_MS before it lets the others pass and tries again, and is
 * written down in pgflow.schema_steps: killed anywhere, it goes on from there.
 */
#ifndef PGFLOW_DB_UPGRADE_H
#define PGFLOW_DB_UPGRADE_H

#include "base/error.h"

#include <stdbool.h>

struct db_sync;

struct upgrade {
    struct db_sync *sync;
    void (*tell)(void *ctx, const char *line); /* what it waits for; NULL: nobody listens */
    void *ctx;
};

/* From sql_schema.base or later to sql_schema.version; no two at once. */
bool upgrade_run(struct upgrade *upgrade, struct error *error) MUST_CHECK;

/* Hosts below sql_schema.version may run no more: refused (ERROR_CONFIG) while one lives. */
bool upgrade_contract(struct upgrade *upgrade, struct error *error) MUST_CHECK;

/* To sql_schema.base: refused (ERROR_CONFIG) while a host lives that needs more, or
 * something is used that it has not. An upgrade that has not flipped is given up. */
bool upgrade_down(struct upgrade *upgrade, struct error *error) MUST_CHECK;

#endif
