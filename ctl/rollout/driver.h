/*
 * The driver of a rollout: looks where the deployment stands, takes the next step or
 * waits for it, and looks again. What it knows is in the database and in what hooks
 * say; a driver that was killed is followed by one that goes on.
 *
 *   rollout_progress ──► the step whose turn it is       driver.c
 *        ▲                      │
 *        │              ┌───────┴────────────┐
 *        │        an act of SQL       a fact to wait for
 *        │        (driver_acts.c)            │
 *        │        lock and act in     hosts: status, then stop or
 *        │        one statement       start (driver_hosts.c, hook_run.c)
 *        │              └───────┬────────────┘
 *        └── at once, or after the back-off; a wait too long ends the driver
 */
#ifndef PGFLOW_CTL_ROLLOUT_DRIVER_H
#define PGFLOW_CTL_ROLLOUT_DRIVER_H

#include "base/error.h"
#include "ctl/rollout/driver_report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db_sync;
struct hooks;
struct manifest;

enum driver_step {
    STEP_NONE,
    STEP_LOAD,
    STEP_FENCE,
    STEP_DEPRECATE,
    STEP_WAIT,
    STEP_DEPLOY,
    STEP_APPLY,
    STEP_CONFIRM,
    STEP_SWITCH,
    STEP_DRAIN,
    STEP_RETIRE,
    DRIVER_STEPS
};

/* As rollout_progress has them. */
extern const char *const driver_step_names[DRIVER_STEPS];

/* What this driver did to the hosts of a function; nothing that the next one needs. */
struct host_memory {
    char *function;
    int starts, stops;
    int stops_since_start; /* what ran before a start has nothing to do with what it brought */
    bool was_wrong;        /* its last start brought other code */
    uint64_t stopped_ms, next_start_ms;
};

struct driver {
    struct db_sync *db;
    const struct manifest *manifest;
    const char *path; /* of the manifest */
    const struct hooks *hooks;
    struct report report;
    enum driver_step until; /* STEP_NONE: to the end */
    bool yes;
    int timeout_s, drain_timeout_s;

    enum driver_step step;       /* whose turn it is */
    bool may_switch, may_retire; /* was asked */
    struct host_memory *hosts;
    size_t host_count;
    const char *lock; /* the deployment whose lock it has; that of a retirement is the same */
};

/* True: done, or the step of --until is. False: stopped in a safe state, and the error
 * says why and what to do. */
bool driver_run(struct driver *driver, struct error *error) MUST_CHECK;

/* What driver_run would do; changes nothing and runs no hook. */
bool driver_plan(const struct driver *driver, struct error *error) MUST_CHECK;

void driver_free(struct driver *driver);

#endif
