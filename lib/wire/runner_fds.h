/*
 * The descriptors that a host hands to pgflow-runner.
 */
#ifndef PGFLOW_WIRE_RUNNER_FDS_H
#define PGFLOW_WIRE_RUNNER_FDS_H

/* Libraries that one module may bring along. */
enum { RUNNER_LIBRARIES = 64 };

enum {
    RUNNER_FD_SOCKET = 3,
    RUNNER_FD_PAGE = 4,
    /* With --sealed: the bytes of the module, then those of each --preload, one number after the
     * other. They stay open: no other file gets the number of one while the loader knows it. */
    RUNNER_FD_PARTS = 5,
    /* What the host keeps for itself is here or above. */
    RUNNER_FD_ABOVE_ALL = RUNNER_FD_PARTS + 1 + RUNNER_LIBRARIES,
};

#endif
