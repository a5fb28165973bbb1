/*
 * What startup has to tell when the database says no: each names the thing, the value and the
 * remedy.
 */
#ifndef PGFLOW_WORKER_STARTUP_REPORT_H
#define PGFLOW_WORKER_STARTUP_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "db/calls.h"

struct worker;
struct worker_module;

/* False: the worker has failed. */
bool startup_report_schema(struct worker *worker, const struct db_schema_version *schema);
bool startup_report_deployment(struct worker *worker, struct worker_module *module,
                               const struct db_deployment *answer);

/* At most 20 missing pairs with their reasons, and what to do, into `report`. */
void startup_report_gap(const struct worker *worker, const struct db_coverage *missing,
                        char *report, size_t size);
void startup_report_other_queue(struct worker *worker);

#endif
