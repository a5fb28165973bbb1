/*
 * A module file, or a library that it needs, read into memory once: what is
 * checked, hashed and mapped are the same bytes, whatever happens to the file.
 */
#ifndef PGFLOW_MODULE_BYTES_H
#define PGFLOW_MODULE_BYTES_H

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
    bool is_sealed;  /* `data` is a mapping of `fd`, which nobody can change */
    int fd;
};

/* Errors name the path: missing, no regular file, too large, unreadable.
 * `bytes` may be closed in any case. */
bool module_bytes_open(struct module_bytes *bytes, const char *path,
                       struct error *error) MUST_CHECK;
/* The same, into a sealed file in memory: what runners map. */
bool module_bytes_open_sealed(struct module_bytes *bytes, const char *path,
                              struct error *error) MUST_CHECK;
/* The sealed file, the caller's from now on; the bytes stay. */
int module_bytes_take_fd(struct module_bytes *bytes);
/* Takes a zeroed struct. */
void module_bytes_close(struct module_bytes *bytes);

/* May others than root and the host's user change the file, or replace it in
 * its folder? Then an error with `chmod go-w PATH`. */
bool module_bytes_check_owner(const struct module_bytes *bytes, struct error *error) MUST_CHECK;

/* Can root alone change the file, or put another in its place? */
bool module_bytes_is_of_root(const char *path);

#endif
