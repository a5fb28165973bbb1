/* SPDX-License-Identifier: Apache-2.0
 * Shared by the test modules: parameters of a run out of its input, text into its
 * result. The parameter search is deliberately simple; inputs come from our tests. */
#ifndef PGFLOW_TESTS_PLUGINS_SUPPORT_H
#define PGFLOW_TESTS_PLUGINS_SUPPORT_H

#include <pgflow/module.h>

#include <stdbool.h>

/* The number behind "name": in the run's input (or the step's, where there is no
 * run's), or otherwise. */
long param_number(const pgf_call *call, const char *name, long otherwise);

/* Copies the text behind "name": into out, without unescaping; false when missing or
 * longer than out. */
bool param_text(const pgf_call *call, const char *name, char *out, size_t size);

/* Appends NUL-terminated text to the result; true when it fitted. */
bool put(const pgf_call *call, const char *text);

/* printf into the result, at most 1 KiB at a time. */
bool put_format(const pgf_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes the input (of a root step: the run's) as the result. */
int32_t echo_input(void *state, const pgf_call *call);

/* Sleeps for the run's parameter "ms" (default 0), then appends a line
 * `flow step run task attempt pid` to the file in its parameter "file", if it has one. So
 * a test counts how often a handler really ran. */
void work_as_asked(const pgf_call *call);

/* For an init: aborts while the file named by the environment variable MOODY_FILE (hand it
 * on with --pass-env) exists and is empty or holds this slug alone, without a newline. */
int32_t moody_init(const char *flow_slug);

#endif
