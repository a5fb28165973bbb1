/*
 * Files in memory (memfd) whose bytes nobody can change once they are sealed:
 * not by a descriptor, not by /proc/<pid>/fd, not by a mapping, not as root.
 */
#ifndef PGFLOW_MODULE_SEALED_FILE_H
#define PGFLOW_MODULE_SEALED_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* `name` is what /proc/<pid>/maps shows. Close-on-exec, above every number that
 * a child of ours gets. -1: error; where the kernel forbids code in such files
 * (vm.memfd_noexec = 2) it names the remedy. */
int sealed_file_create(const char *name, struct error *error) MUST_CHECK;
bool sealed_file_append(int fd, const void *data, size_t size, struct error *error) MUST_CHECK;
/* For ever. */
bool sealed_file_seal(int fd, struct error *error) MUST_CHECK;
/* Readable by every user, whatever its owner did to the mode meanwhile: a
 * handler of the host's user may chmod it, and the next runner opens it. */
void sealed_file_let_read(int fd);

#endif
