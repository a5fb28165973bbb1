/*
 * `pgflow-runner --inspect FILE`: prints the descriptor as JSON on stdout and
 * exits with 0, or prints what is wrong and exits with 78. Whatever the module's
 * constructors print goes to stderr, so stdout carries nothing else; a module
 * that crashes or exits leaves stdout empty.
 */
#ifndef PGFLOW_RUNNER_INSPECT_H
#define PGFLOW_RUNNER_INSPECT_H

#include "runner/options.h"

/* The exit status. */
int inspect_module(const struct runner_options *options);

#endif
