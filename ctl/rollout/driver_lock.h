/*
 * One driver of a deployment at a time: an advisory lock of the driver's session.
 */
#ifndef PGFLOW_CTL_ROLLOUT_DRIVER_LOCK_H
#define PGFLOW_CTL_ROLLOUT_DRIVER_LOCK_H

#include "base/error.h"

#include <stdbool.h>

struct db_sync;

/* True in SQL when this session has the lock of deployment $1, or got it now: a
 * connection that came back takes it anew. It nests, and ends with the session. */
#define DRIVER_LOCK_SQL "pg_try_advisory_lock(hashtextextended('pgflow rollout ' || $1, 0))"

/* ERROR_CONFIG: a pooler stands in between, and the lock would be anybody's. */
bool driver_lock_require_session(struct db_sync *db, struct error *error) MUST_CHECK;

/* False: ERROR_ANSWER_NO with who has it, or the error of the question. */
bool driver_lock_take(struct db_sync *db, const char *deployment, struct error *error) MUST_CHECK;

/* The same, and tried for two seconds: a driver that was just killed has it until its hook is
 * ended. */
bool driver_lock_await(struct db_sync *db, const char *deployment, struct error *error) MUST_CHECK;

/* ERROR_ANSWER_NO with who has the lock. Always false. */
bool driver_lock_refuse(struct db_sync *db, const char *deployment, struct error *error);

/* True when no other session has it. */
bool driver_lock_is_free(struct db_sync *db, const char *deployment,
                         struct error *error) MUST_CHECK;

#endif
