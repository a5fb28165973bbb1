/*
 * Reading memory that may not be there. The kernel copies
 * (process_vm_readv on our own process), so that a wild pointer or a text that
 * runs into an unmapped page is an answer and not a SIGSEGV.
 */
#ifndef PGFLOW_RUNNER_DESCRIPTOR_PROBE_H
#define PGFLOW_RUNNER_DESCRIPTOR_PROBE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum probe_result {
    PROBE_OK,
    PROBE_UNREADABLE, /* some of it is not mapped, or not readable */
    PROBE_TOO_LONG,   /* text: no NUL within the limit */
    PROBE_REFUSED,    /* the kernel does not allow this call at all; errno says why */
};

/* Copies `size` bytes from `address`. */
enum probe_result probe_bytes(uintptr_t address, void *out, size_t size) MUST_CHECK;

/* Whether the process may run what is there. PROBE_REFUSED: that cannot be found out. */
enum probe_result probe_code(uintptr_t address) MUST_CHECK;

/* Copies NUL-terminated text of at most `limit` bytes to `out`, which has room
 * for limit + 1; `size` is its length. Reads no page behind the NUL. */
enum probe_result probe_text(uintptr_t address, char *out, size_t limit, size_t *size) MUST_CHECK;

#endif
