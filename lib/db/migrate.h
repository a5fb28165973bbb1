/*
 * Bringing the database to this program's schema, and judging one that is
 * there. For pgflowctl migrate and for the host's startup.
 */
#ifndef PGFLOW_DB_MIGRATE_H
#define PGFLOW_DB_MIGRATE_H

#include "base/error.h"
#include "db/upgrade.h"

#include <stdbool.h>

struct db_sync;

/* The version of the schema that this program carries: the host's own number. */
int migrate_own_version(void);

/* May this program run on a schema of that version? The error (ERROR_CONFIG)
 * says both numbers and what to do. `version` 0: not installed. */
bool migrate_judge(int version, int oldest_host, struct error *error) MUST_CHECK;

/* False (ERROR_CONFIG) when the schema is newer than what this program may run on.
 * Where nobody may or can ask, or nothing is installed, what comes next says so. */
bool migrate_bears_program(struct db_sync *sync, struct error *error) MUST_CHECK;

/* The version that is installed; 0: none, or a schema that is not ours. */
bool migrate_read(struct db_sync *sync, int *version, struct error *error) MUST_CHECK;

struct migrated {
    int before; /* 0: not installed */
    int after;
};

/* Installs the schema where there is none, and upgrades an earlier version; several at
 * once wait for each other. The sync must have no statement deadline to speak of. */
bool migrate_apply(struct upgrade *upgrade, struct migrated *migrated,
                   struct error *error) MUST_CHECK;

#endif
