/*
 * Finds and opens pgflow-runner; see module_file.h.
 */
#include "module/module_file.h"
#include "wire/runner_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef PGFLOW_LIBEXEC
#define PGFLOW_LIBEXEC "/usr/local/libexec/pgflow" /* where an installation has pgflow-runner */
#endif
#ifndef PGFLOW_LIBEXEC_FROM_BIN
#define PGFLOW_LIBEXEC_FROM_BIN "../libexec/pgflow" /* of one that was moved as a whole */
#endif

static int open_program(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int moved;

    if (fd < 0)
        return -1;
    moved = fcntl(fd, F_DUPFD_CLOEXEC, RUNNER_FD_ABOVE_ALL);
    (void)close(fd);
    return moved;
}

/* The folder of the running binary, with its slash. */
static bool find_own_folder(char *out, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", out, size - 1);
    char *slash;

    if (length <= 0)
        return false;
    out[length] = '\0';
    slash = strrchr(out, '/');
    if (slash == NULL)
        return false;
    slash[1] = '\0';
    return true;
}

int runner_program_open(const char *path, struct error *error)
{
    char folder[PATH_MAX];
    char beside[PATH_MAX + sizeof PGFLOW_LIBEXEC_FROM_BIN + 32];
    int fd = -1;

    if (path != NULL) {
        fd = open_program(path);
        if (fd < 0)
            (void)error_set(error, ERROR_CONFIG, "cannot open '%s': %s", path, strerror(errno));
        return fd;
    }
    if (find_own_folder(folder, sizeof folder)) {
        snprintf(beside, sizeof beside, "%spgflow-runner", folder);
        fd = open_program(beside);
        if (fd < 0) {
            snprintf(beside, sizeof beside, "%s" PGFLOW_LIBEXEC_FROM_BIN "/pgflow-runner", folder);
            fd = open_program(beside);
        }
    } else {
        folder[0] = '\0';
    }
    if (fd < 0)
        fd = open_program(PGFLOW_LIBEXEC "/pgflow-runner");
    if (fd < 0)
        (void)error_set(
            error, ERROR_CONFIG,
            "pgflow-runner was found neither in '%s' nor in '%s': the installation is not "
            "complete",
            folder, PGFLOW_LIBEXEC);
    return fd;
}
