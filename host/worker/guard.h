/*
 * The unsupported-batch guard, host side: the database has put the whole batch back and paused the
 * function; the host says once what it saw and ends with 78.
 */
#ifndef PGFLOW_WORKER_GUARD_H
#define PGFLOW_WORKER_GUARD_H

#include <stdbool.h>

struct worker;
struct db_claim;

/* True when the claim has unsupported work: one fatal event, and the drain has begun. */
bool guard_report(struct worker *worker, const struct db_claim *claim);

#endif
