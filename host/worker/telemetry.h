/*
 * What the rest of the worker tells the metrics. Without --metrics-listen there is no telemetry:
 * nothing is counted, asked or opened, and each of these calls returns at once.
 *
 * Files: telemetry.c counts and serves, telemetry_sample.c asks the database, telemetry_render.c
 * writes what is true at the moment of a scrape, telemetry_status.c feeds the status page.
 */
#ifndef PGFLOW_WORKER_TELEMETRY_H
#define PGFLOW_WORKER_TELEMETRY_H

#include "base/error.h"
#include "db/calls.h"
#include "observe/metrics.h"

#include <stdbool.h>

struct pool_result;
struct task;
struct worker;

/* Listens, from the modules on and before anything of the database. */
bool telemetry_open(struct worker *worker, struct error *error) MUST_CHECK;
/* Takes a worker without telemetry. */
void telemetry_close(struct worker *worker);

/* At the registration and at each heartbeat's tick: asks for the queue's depth and the drain, now
 * and then. */
void telemetry_sample(struct worker *worker);

/* Lost and unsent calls have no round trip and are not observed. */
void telemetry_call(struct worker *worker, enum metrics_call call, const struct db_status *status);
void telemetry_claimed(struct worker *worker, const struct db_claim *claim);
void telemetry_guard(struct worker *worker);
void telemetry_task_started(struct worker *worker, const struct task *task);
void telemetry_task_ran(struct worker *worker, const struct task *task,
                        const struct pool_result *result);
void telemetry_task_ended(struct worker *worker, const struct task *task,
                          enum metrics_outcome outcome);
void telemetry_task_finished(struct worker *worker, const struct task *task,
                             enum db_finish_outcome outcome);
void telemetry_task_released(struct worker *worker, const struct task *task,
                             enum db_release_outcome outcome);

#endif
