/*
 * Runs handlers of a built module in this process, as a runner would: dlopen, init, one
 * call. For modules that behave.
 */
#ifndef PGFLOW_TESTS_DRIVE_H
#define PGFLOW_TESTS_DRIVE_H

#include "base/buf.h"

#include <pgflow/module.h>

struct drive {
    void *library;
    pgf_host host;
    const pgf_module *module;
    void *state;
    struct buf output; /* of the last run */
    struct buf error;  /* its error text, "" without one */
    struct buf log;    /* the last line, also of init */
    size_t write_limit;
    uint32_t attempt;
    int64_t retry_after; /* -1: not asked for */
    void *scratch;
    bool cancelled; /* what is_cancelled() says */
};

/* Fails the test when the module cannot be loaded or its init does not give 0. */
void drive_open(struct drive *drive, const char *path);
/* The same, and false when init does not give 0. */
bool drive_try_open(struct drive *drive, const char *path);
void drive_close(struct drive *drive);

/* Runs one attempt of the step and returns what its handler returned; fails the test when
 * there is no such step. flow_input may be NULL: len 0. */
int32_t drive_run(struct drive *drive, const char *step, const char *input, const char *flow_input);

#endif
