/*
 * One page of memory for each runner, written by the host and mapped read-only
 * by the runner: a memfd, sealed so that nothing but the host's own mapping can
 * write it. It tells without a system call which task should stop early
 * (is_cancelled is one atomic load of it), which waiting tasks were recalled,
 * and whether the host reads what a task prints.
 *
 * Recalling a task must be certain at once, though the runner may be about to
 * start it. Each side first shows its intent, then looks at the other's:
 *
 *   host:   recalled = N,   fence, read the socket: is there STARTED N?
 *   runner: send STARTED N, fence, read `recalled`: is it N?
 *
 * The host sees no STARTED N: then it was sent later, so the runner looks at
 * `recalled` after the host set it, and the handler does not run; the task is
 * the host's again. The host sees STARTED N: it waits for the answer, which
 * is NOT_RUN or RESULT. Both cannot miss each other.
 *
 * A task that finds its pipe empty and `reads` as it was, and even, has printed
 * nothing: who reads adds one before the read and one behind it.
 */
#ifndef PGFLOW_WIRE_CANCEL_PAGE_H
#define PGFLOW_WIRE_CANCEL_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

/* TASK frames that one runner may hold unanswered; their numbers follow each
 * other, so `number % CANCEL_PAGE_SLOTS` never meets another waiting task. */
#define CANCEL_PAGE_SLOTS 8

#define CANCEL_PAGE_SIZE 4096

struct cancel_page {
    _Atomic uint64_t cancelled; /* number of the task that should stop; 0: none */
    _Atomic uint64_t recalled[CANCEL_PAGE_SLOTS];
    _Atomic uint64_t reads[2]; /* of stdout, of stderr; odd: in the middle of one */
};

#endif
