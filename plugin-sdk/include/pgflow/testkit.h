/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls the steps of a built module in the test's own process, with any framework or none:
 *
 *     pgf_test *flow = pgf_test_open("build/my_flow.so");
 *     assert(pgf_test_problem(flow) == NULL);
 *     assert(pgf_test_call(flow, "greet", "\"Ada\"") == PGF_OK);
 *     assert(strcmp(pgf_test_output(flow), "{\"hello\": \"Ada\"}") == 0);
 *     pgf_test_close(flow);
 *
 * The module is checked, and results are judged, by the code of pgflow-host itself: what passes
 * here passes there. Debuggers, sanitizers and coverage see the module as any code of the test.
 * What a host adds by way of processes (timeouts, memory limits, what a crash costs) is not here:
 * `pgflowctl exec` runs a step in a process of its own.
 *
 * CMake: PgflowSDK::testkit; pkg-config: pgflow-testkit. C99 and C++11. Texts that are given are
 * borrowed during the call; texts that come back are NUL-terminated and live until the next call
 * of the same flow or its close. One thread for each flow. */
#ifndef PGFLOW_TESTKIT_H
#define PGFLOW_TESTKIT_H

#include <pgflow/module.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A call that was never made: no such step, or an input that is no JSON. */
#define PGF_TEST_MISTAKE (-1)

typedef struct pgf_test pgf_test;

/* Maps the module, checks its descriptor and calls init. `path` without a slash is in the current
 * folder. NULL only when there is no memory: look at pgf_test_problem. A module is never unmapped:
 * opened twice in one process it is the same one, with the same static data. */
pgf_test *pgf_test_open(const char *path);

/* NULL: the steps can be called. Otherwise why not, in the words of pgflow-host. */
const char *pgf_test_problem(const pgf_test *test);

/* Calls fini and frees what was here. Takes NULL. */
void pgf_test_close(pgf_test *test);

/* One attempt. `input` is what the step would see: the run's input for a single step without
 * dependencies (it arrives as flow_input), one element for a map, otherwise the object of what its
 * dependencies gave. PGF_OK, PGF_ERROR, PGF_PERMANENT or PGF_CANCELLED as a host judges it: an
 * output that is no JSON is PGF_ERROR, whatever the handler returned. PGF_TEST_MISTAKE: not
 * called. */
int32_t pgf_test_call(pgf_test *test, const char *step, const char *input);

/* Of the last call. The result as JSON, "null" when nothing was written; "" unless PGF_OK. */
const char *pgf_test_output(const pgf_test *test);
/* What would be stored as the reason; "" after PGF_OK. */
const char *pgf_test_error(const pgf_test *test);
/* Seconds that retry_after asked for; -1: it did not. */
int32_t pgf_test_retry_after(const pgf_test *test);
/* Its log lines, "warn: text\n" each; before the first call those of init. */
const char *pgf_test_log(const pgf_test *test);

/* For the calls from now on. */
/* The run's input of steps that ask for it besides theirs (PGF_WANTS_FLOW_INPUT); NULL: {}. */
void pgf_test_set_flow_input(pgf_test *test, const char *json);
void pgf_test_set_attempt(pgf_test *test, uint32_t attempt, int32_t max_attempts); /* 1, 3 */
void pgf_test_set_task_index(pgf_test *test, int32_t index);                       /* 0 */
/* is_cancelled() says yes from the n-th question on; 0: never. */
void pgf_test_cancel_at(pgf_test *test, uint32_t question);
/* The largest result in bytes; 0: the default of a host, 16 MiB. */
void pgf_test_set_max_output(pgf_test *test, size_t bytes);

/* What the module exports; NULL when it has a problem before init. */
const pgf_module *pgf_test_module(const pgf_test *test);

#ifdef __cplusplus
}
#endif

#endif
