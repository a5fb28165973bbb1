/* SPDX-License-Identifier: Apache-2.0
 * The layout of ABI 1.1 on 64-bit machines, field by field: what is released stays where it
 * is. Compiled in every language standard of the matrix. A minor version appends lines
 * here and changes none. */
#ifndef PGFLOW_TESTS_ABI_LAYOUT_H
#define PGFLOW_TESTS_ABI_LAYOUT_H

#include <pgflow/module.h>

/* C99 has no static assertion: an array of negative size. */
#define LAYOUT_NAME_(line) layout_check_at_line_##line
#define LAYOUT_NAME(line) LAYOUT_NAME_(line)
#define HOLDS(condition) typedef char LAYOUT_NAME(__LINE__)[(condition) ? 1 : -1]
#define FIELD(type, field, offset, size)                                                           \
    HOLDS(offsetof(type, field) == (offset) && sizeof(((type *)0)->field) == (size))

HOLDS(sizeof(void *) == 8);
HOLDS(PGF_MAGIC == 0x4D464750u && PGF_ABI_MAJOR == 1 && PGF_ABI_MINOR == 1);
HOLDS(PGF_STEP_SINGLE == 0 && PGF_STEP_MAP == 1 && PGF_WANTS_FLOW_INPUT == 1);
HOLDS(PGF_MAY_GROW == 1); /* 1.1 */
HOLDS(PGF_QUEUE_FLOW == 0 && PGF_QUEUE_STEP == 1 && PGF_QUEUE_ROUTED == 2);
HOLDS(PGF_OK == 0 && PGF_ERROR == 1 && PGF_PERMANENT == 2 && PGF_CANCELLED == 3);
HOLDS(PGF_LOG_DEBUG == 0 && PGF_LOG_INFO == 1 && PGF_LOG_WARN == 2 && PGF_LOG_ERROR == 3);

HOLDS(sizeof(pgf_str) == 16);
FIELD(pgf_str, ptr, 0, 8);
FIELD(pgf_str, len, 8, 8);

HOLDS(sizeof(pgf_int) == 8);
FIELD(pgf_int, is_set, 0, 4);
FIELD(pgf_int, value, 4, 4);

HOLDS(sizeof(pgf_options) == 40);
FIELD(pgf_options, struct_size, 0, 4);
FIELD(pgf_options, reserved, 4, 4);
FIELD(pgf_options, max_attempts, 8, 8);
FIELD(pgf_options, base_delay_s, 16, 8);
FIELD(pgf_options, timeout_s, 24, 8);
FIELD(pgf_options, start_delay_s, 32, 8);

HOLDS(sizeof(pgf_host) == 32);
FIELD(pgf_host, struct_size, 0, 4);
FIELD(pgf_host, abi_minor, 4, 4);
FIELD(pgf_host, ctx, 8, 8);
FIELD(pgf_host, log, 16, 8);
FIELD(pgf_host, extension, 24, 8);

HOLDS(sizeof(pgf_call) == 168);
FIELD(pgf_call, struct_size, 0, 4);
FIELD(pgf_call, attempt, 4, 4);
FIELD(pgf_call, ctx, 8, 8);
FIELD(pgf_call, host, 16, 8);
FIELD(pgf_call, flow_slug, 24, 16);
FIELD(pgf_call, step_slug, 40, 16);
FIELD(pgf_call, run_id, 56, 16);
FIELD(pgf_call, msg_id, 72, 8);
FIELD(pgf_call, task_index, 80, 4);
FIELD(pgf_call, max_attempts, 84, 4);
FIELD(pgf_call, input, 88, 16);
FIELD(pgf_call, flow_input, 104, 16);
FIELD(pgf_call, deadline_ns, 120, 8);
FIELD(pgf_call, write, 128, 8);
FIELD(pgf_call, set_error, 136, 8);
FIELD(pgf_call, retry_after, 144, 8);
FIELD(pgf_call, alloc, 152, 8);
FIELD(pgf_call, is_cancelled, 160, 8);

HOLDS(sizeof(pgf_step) == 96);
FIELD(pgf_step, struct_size, 0, 4);
FIELD(pgf_step, kind, 4, 4);
FIELD(pgf_step, flags, 8, 4);
FIELD(pgf_step, reserved, 12, 4);
FIELD(pgf_step, slug, 16, 8);
FIELD(pgf_step, deps, 24, 8);
FIELD(pgf_step, queue, 32, 8);
FIELD(pgf_step, options, 40, 8);
FIELD(pgf_step, required_input, 48, 8);
FIELD(pgf_step, forbidden_input, 56, 8);
FIELD(pgf_step, when_unmet, 64, 8);
FIELD(pgf_step, when_exhausted, 72, 8);
FIELD(pgf_step, contract, 80, 8);
FIELD(pgf_step, run, 88, 8);

HOLDS(sizeof(pgf_module) == 104);
FIELD(pgf_module, magic, 0, 4);
FIELD(pgf_module, abi_major, 4, 4);
FIELD(pgf_module, abi_minor, 8, 4);
FIELD(pgf_module, struct_size, 12, 4);
FIELD(pgf_module, needs_minor, 16, 4);
FIELD(pgf_module, flags, 20, 4);
FIELD(pgf_module, flow_slug, 24, 8);
FIELD(pgf_module, alias, 32, 8);
FIELD(pgf_module, version, 40, 8);
FIELD(pgf_module, queue_mode, 48, 4);
FIELD(pgf_module, reserved, 52, 4);
FIELD(pgf_module, options, 56, 8);
FIELD(pgf_module, steps, 64, 8);
FIELD(pgf_module, n_steps, 72, 4);
FIELD(pgf_module, step_size, 76, 4);
FIELD(pgf_module, init, 80, 8);
FIELD(pgf_module, fini, 88, 8);
FIELD(pgf_module, extension, 96, 8);

#endif
