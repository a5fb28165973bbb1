/* SPDX-License-Identifier: Apache-2.0
 * The flow `faults`: one root step a fault. A run's input {"fault": "<step>", ...} picks
 * one, the conditions skip all others. Steps get 2 attempts without a pause, and 60 s
 * unless stated. */
#include "faults.h"

static const pgf_options flow_options = {.max_attempts = PGF_INT(2), .base_delay_s = PGF_INT(0)};
static const pgf_options one_second = {.timeout_s = PGF_INT(1)};
static const pgf_options five_attempts = {.max_attempts = PGF_INT(5)};

#define FAULT(name, handler, opts)                                                                 \
    {                                                                                              \
        .slug = name, .options = (opts), .required_input = "{\"fault\": \"" name "\"}",            \
        .when_unmet = "skip", .run = (handler)                                                     \
    }

static const pgf_step steps[] = {
    FAULT("segv", fault_segv, NULL),
    FAULT("segv_once", fault_segv_once, NULL),
    FAULT("segv_five", fault_segv, &five_attempts),
    FAULT("stack_overflow", fault_stack_overflow, NULL),
    FAULT("abort", fault_abort, NULL),
    FAULT("exit", fault_exit, NULL),
    FAULT("kill", fault_kill, NULL),
    FAULT("say_and_die", fault_say_and_die, NULL),
    FAULT("die_later", fault_die_later, NULL),
    FAULT("spin", fault_spin, &one_second),
    FAULT("spin_politely", fault_spin_politely, &one_second),
    FAULT("stop", fault_stop, &one_second),
    FAULT("sleep", fault_sleep, NULL),
    FAULT("hog", fault_hog, NULL),
    FAULT("leak", fault_leak, NULL),
    FAULT("scratch", fault_scratch, NULL),
    FAULT("garbage_frame", fault_garbage_frame, NULL),
    FAULT("close_all", fault_close_all, NULL),
    FAULT("flood", fault_flood, NULL),
    FAULT("print", fault_print, NULL),
    FAULT("fork", fault_fork, NULL),
    FAULT("fork_returns", fault_fork_returns, NULL),
    FAULT("self", fault_self, NULL),
    FAULT("not_json", fault_output, NULL),
    FAULT("cut_short", fault_output, NULL),
    FAULT("two_values", fault_output, NULL),
    FAULT("leading_zero", fault_output, NULL),
    FAULT("nul_byte", fault_output, NULL),
    FAULT("nul_escape", fault_output, NULL),
    FAULT("bad_utf8", fault_output, NULL),
    FAULT("overlong_utf8", fault_output, NULL),
    FAULT("lone_surrogate", fault_output, NULL),
    FAULT("control_character", fault_output, NULL),
    FAULT("number_overflow", fault_output, NULL),
    FAULT("nested", fault_nested, NULL),
    FAULT("over_limit", fault_over_limit, NULL),
    FAULT("nothing", fault_nothing, NULL),
    FAULT("big_integers", fault_big_integers, NULL),
    FAULT("echo", echo_input, NULL),
    FAULT("error_text", fault_error_text, NULL),
    FAULT("error_nul", fault_error_text, NULL),
    FAULT("error_bad_utf8", fault_error_text, NULL),
    FAULT("error_escape", fault_error_text, NULL),
    FAULT("error_long", fault_error_long, NULL),
    FAULT("permanent", fault_error_text, NULL),
    FAULT("retry_after", fault_retry_after, NULL),
    FAULT("return", fault_return, NULL),
    FAULT("forged_result", fault_forged_result, &one_second),
    FAULT("print_and_meet", fault_print_and_meet, NULL),
    FAULT("nonblock", fault_nonblock, NULL),
};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "faults",
                                                .version = "1", .options = &flow_options,
                                                .steps = PGF_ARRAY(steps)};
