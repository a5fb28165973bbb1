/* SPDX-License-Identifier: Apache-2.0
 * The handlers of the flow `faults`, by file; README.md says what each does. */
#ifndef PGFLOW_TESTS_PLUGINS_FAULTS_H
#define PGFLOW_TESTS_PLUGINS_FAULTS_H

#include "support.h"

/* faults_die.c: ways to end the process */
int32_t fault_segv(void *state, const pgf_call *call);
int32_t fault_segv_once(void *state, const pgf_call *call);
int32_t fault_stack_overflow(void *state, const pgf_call *call);
int32_t fault_abort(void *state, const pgf_call *call);
int32_t fault_exit(void *state, const pgf_call *call);
int32_t fault_kill(void *state, const pgf_call *call);
int32_t fault_say_and_die(void *state, const pgf_call *call);
int32_t fault_die_later(void *state, const pgf_call *call);

/* faults_greedy.c: ways to use too much, of time or memory */
int32_t fault_spin(void *state, const pgf_call *call);
int32_t fault_spin_politely(void *state, const pgf_call *call);
int32_t fault_stop(void *state, const pgf_call *call);
int32_t fault_sleep(void *state, const pgf_call *call);
int32_t fault_hog(void *state, const pgf_call *call);
int32_t fault_leak(void *state, const pgf_call *call);
int32_t fault_scratch(void *state, const pgf_call *call);

/* faults_process.c: ways to misuse what a process has */
int32_t fault_garbage_frame(void *state, const pgf_call *call);
int32_t fault_forged_result(void *state, const pgf_call *call);
int32_t fault_close_all(void *state, const pgf_call *call);
int32_t fault_flood(void *state, const pgf_call *call);
int32_t fault_print(void *state, const pgf_call *call);
int32_t fault_print_and_meet(void *state, const pgf_call *call);
int32_t fault_nonblock(void *state, const pgf_call *call);
int32_t fault_fork(void *state, const pgf_call *call);
int32_t fault_fork_returns(void *state, const pgf_call *call);
int32_t fault_self(void *state, const pgf_call *call);

/* faults_output.c: results that are no JSON, or only just */
int32_t fault_output(void *state, const pgf_call *call);
int32_t fault_nested(void *state, const pgf_call *call);
int32_t fault_over_limit(void *state, const pgf_call *call);
int32_t fault_nothing(void *state, const pgf_call *call);
int32_t fault_big_integers(void *state, const pgf_call *call);

/* faults_error.c: ways to fail by return value */
int32_t fault_error_text(void *state, const pgf_call *call);
int32_t fault_error_long(void *state, const pgf_call *call);
int32_t fault_retry_after(void *state, const pgf_call *call);
int32_t fault_return(void *state, const pgf_call *call);

#endif
