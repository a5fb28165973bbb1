/*
 * `pgflow-runner --run FILE`: loads one module and runs its handlers, one at a
 * time on the main thread, for the host at the other end of the socket.
 */
#ifndef PGFLOW_RUNNER_SERVE_H
#define PGFLOW_RUNNER_SERVE_H

#include "runner/options.h"

/* The exit status: 0 after STOP, 78 when the module cannot start. */
int serve_module(const struct runner_options *options);

#endif
