/*
 * A module file, or a library that it needs, read into memory: what is checked,
 * hashed and copied are the same bytes, whatever happens to the file meanwhile.
 */
#ifndef PGFLOW_MODULE_MODULE_BYTES_H
#define PGFLOW_MODULE_MODULE_BYTES_H

#include "base/error.h"
#include "module/digest.h"
#include "module/elf_image.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct module_bytes {
    char *data;
    size_t size;
    struct stat about;
    char *real_path; /* absolute, links resolved */
};

/* Errors name the path: missing, no regular file, too large, unreadable.
 * `bytes` may be closed in any case. */
bool module_bytes_open(struct module_bytes *bytes, const char *path,
                       struct error *error) MUST_CHECK;
/* Takes a zeroed struct. */
void module_bytes_close(struct module_bytes *bytes);

/* May others than root and the host's user change the file, or replace it in
 * its folder? Then an error with `chmod go-w PATH`. */
bool module_bytes_check_owner(const struct module_bytes *bytes, struct error *error) MUST_CHECK;

#endif
