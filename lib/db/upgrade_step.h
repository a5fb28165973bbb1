/*
 * One statement of an upgrade: with short locks, tried again, written down.
 */
#ifndef PGFLOW_DB_UPGRADE_STEP_H
#define PGFLOW_DB_UPGRADE_STEP_H

#include "db/sql_split.h"
#include "db/upgrade.h"

struct upgrade_step {
    const char *phase; /* NULL: written down nowhere, for a way back */
    const char *file;
    int number; /* of the statement in the file, from 1 */
    struct sql_piece piece;
};

bool upgrade_step_run(struct upgrade *upgrade, const struct upgrade_step *step,
                      struct error *error) MUST_CHECK;

/* A whole statement that sets its own lock_timeout: sent again while it gets no lock. */
bool upgrade_send(struct upgrade *upgrade, const char *name, const char *sql,
                  struct error *error) MUST_CHECK;

/* Until every transaction that runs now has ended. */
bool upgrade_outwait(struct upgrade *upgrade, struct error *error) MUST_CHECK;

#endif
