/*
 * How much address space this process uses, from a descriptor opened once: one
 * pread(2), also from a signal handler.
 */
#ifndef PGFLOW_RUNNER_ADDRESS_SPACE_H
#define PGFLOW_RUNNER_ADDRESS_SPACE_H

#include <stdint.h>

/* After the descriptors were closed. Without /proc every size is 0. */
void address_space_open(void);

/* Bytes; 0: unknown. Async-signal-safe. */
uint64_t address_space_size(void);

#endif
