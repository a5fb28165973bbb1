/*
 * What can be learned from the bytes of a shared object without running it:
 * whether it is whole and for this machine, its build-id, and what it needs.
 * Nothing in the bytes is believed; every offset is checked.
 */
#ifndef PGFLOW_MODULE_ELF_IMAGE_H
#define PGFLOW_MODULE_ELF_IMAGE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { ELF_BUILD_ID_BYTES = 64, ELF_NEEDED = 64 };

struct elf_image {
    const unsigned char *data;
    size_t size;
    char build_id[2 * ELF_BUILD_ID_BYTES + 1]; /* hex; "" without one */
    const char *needed[ELF_NEEDED];            /* DT_NEEDED, borrowed from the bytes */
    size_t needed_count;
    bool needs_unread;   /* there are more, or such that are no texts of this file */
    const char *rpath;   /* DT_RPATH; borrowed, as all that follows; NULL: none */
    const char *runpath; /* DT_RUNPATH: DT_RPATH counts for nothing beside it */
    const char *soname;
};

/* The bytes are borrowed while the image is used. Errors (ERROR_CONFIG): not
 * ELF, truncated, not for this machine, no shared object. */
bool elf_image_read(struct elf_image *image, const void *data, size_t size,
                    struct error *error) MUST_CHECK;

#endif
