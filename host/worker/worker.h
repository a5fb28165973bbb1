/*
 * The host between its database, its modules and its runners: one queue, many concrete flows. One
 * thread, one loop; worker_run is the whole life of it.
 */
#ifndef PGFLOW_WORKER_WORKER_H
#define PGFLOW_WORKER_WORKER_H

#include <stdbool.h>

#include "base/error.h"

struct db_address;
struct settings;

struct worker_end {
    int code;           /* the exit code */
    struct error error; /* code not 0: why, with the remedy */
    bool
        leave_at_once; /* a name lookup hangs in a thread that exit() would wait for: use _exit() */
};

/* Starts, serves and stops. Both arguments are borrowed until it returns. */
struct worker_end worker_run(const struct settings *settings, const struct db_address *address);

#endif
