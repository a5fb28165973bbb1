/*
 * The parts of residue.c. Each notes a state with _note and says later with _changed, or _put_back,
 * what became of it. All is of the runner's main thread, in which handlers run.
 */
#ifndef PGFLOW_RUNNER_RESIDUE_PARTS_H
#define PGFLOW_RUNNER_RESIDUE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

/* residue_put_back.c. Timers come before signals: theirs may be pending. */
void put_back_note(void);
void put_back_timers(void);
uint32_t put_back_quick(void);
uint32_t put_back_deep(void);

/* residue_memory.c: environment, locale, floating-point mode. No system call. */
void memory_note(void);
uint32_t memory_changed(void);

/* residue_kernel.c: limits, credentials, namespaces, affinity, inherited descriptors. */
void kernel_note(void);
uint32_t kernel_changed(void);
/* The inherited descriptors alone. */
uint32_t kernel_descriptors_changed(void);

/* residue_growth.c */
void growth_open(void);
void growth_note(void);
/* Descriptors, and threads where there ever were any. */
uint32_t growth_quick(void);
/* Signal handlers and children. */
uint32_t growth_deep(void);

#endif
