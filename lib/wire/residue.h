/*
 * What a task left in its process and the runner cannot put back: bits of a RESULT, and words for
 * people. A runner that reports any of them runs no further task.
 */
#ifndef PGFLOW_WIRE_RESIDUE_H
#define PGFLOW_WIRE_RESIDUE_H

#include <stddef.h>
#include <stdint.h>

enum residue {
    /* Could not be put back. */
    RESIDUE_SIGNALS = 1u << 0, /* pending, mask */
    RESIDUE_FOLDER = 1u << 1,
    RESIDUE_PRIORITY = 1u << 2,
    /* Changed. */
    RESIDUE_ENVIRONMENT = 1u << 3,
    RESIDUE_LOCALE = 1u << 4,
    RESIDUE_FLOATING_POINT = 1u << 5,
    RESIDUE_LIMITS = 1u << 6,
    RESIDUE_CREDENTIALS = 1u << 7,
    RESIDUE_NAMESPACES = 1u << 8,
    RESIDUE_AFFINITY = 1u << 9,
    RESIDUE_STANDARD_FDS = 1u << 10,
    /* More than after the first task. */
    RESIDUE_HANDLERS = 1u << 11,
    RESIDUE_THREADS = 1u << 12,
    RESIDUE_DESCRIPTORS = 1u << 13,
    RESIDUE_CHILDREN = 1u << 14,
    RESIDUE_ALL = (1u << 15) - 1,
    RESIDUE_GROWTH = RESIDUE_HANDLERS | RESIDUE_THREADS | RESIDUE_DESCRIPTORS | RESIDUE_CHILDREN,
};

/* "environment, umask and threads"; "" for none. Cut at `size`. */
void residue_describe(uint32_t residue, char *out, size_t size);

#endif
