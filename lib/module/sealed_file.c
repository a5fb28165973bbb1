/*
 * Sealed files in memory; see sealed_file.h.
 */
#include "module/sealed_file.h"

#include "wire/runner_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* Linux 6.3 */
#endif

static const char forbidding_setting[] = "/proc/sys/vm/memfd_noexec";

static bool is_forbidden(void)
{
    int fd = open(forbidding_setting, O_RDONLY | O_CLOEXEC);
    char value = '0';
    bool known = fd >= 0 && read(fd, &value, 1) == 1;

    if (fd >= 0)
        (void)close(fd);
    return known && value == '2';
}

static bool refuse(int number, struct error *error)
{
    if (number == EACCES && is_forbidden())
        return error_set(
            error, ERROR_CONFIG,
            "modules are mapped from sealed memory, and this kernel forbids code in it "
            "(vm.memfd_noexec = 2): allow it with 'sysctl -w vm.memfd_noexec=1', in the "
            "PID namespace of the host and in those around it");
    return error_set(error, ERROR_INTERNAL, "memfd_create: %s", strerror(number));
}

/* A kernel before 6.3 knows no MFD_EXEC, and lets every such file be mapped. */
static int create(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd;
}

int sealed_file_create(const char *name, struct error *error)
{
    int fd = create(name);
    int moved;

    if (fd < 0) {
        refuse(errno, error);
        return -1;
    }
    moved = fcntl(fd, F_DUPFD_CLOEXEC, RUNNER_FD_ABOVE_ALL);
    if (moved < 0)
        (void)error_set(error, ERROR_INTERNAL, "descriptor %d: %s", RUNNER_FD_ABOVE_ALL,
                        strerror(errno));
    (void)close(fd);
    return moved;
}

bool sealed_file_append(int fd, const void *data, size_t size, struct error *error)
{
    const char *at = data;

    while (size > 0) {
        ssize_t written = write(fd, at, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return error_set(error, ERROR_INTERNAL, "cannot be kept in memory: %s",
                             strerror(errno));
        at += written;
        size -= (size_t)written;
    }
    return true;
}

bool sealed_file_seal(int fd, struct error *error)
{
    sealed_file_let_read(fd);
    return fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0 ||
           error_set(error, ERROR_INTERNAL, "cannot be sealed: %s", strerror(errno));
}

void sealed_file_let_read(int fd)
{
    (void)!fchmod(fd, 0555);
}
