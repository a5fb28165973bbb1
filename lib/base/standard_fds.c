/*
 * Descriptors 0, 1 and 2; see standard_fds.h.
 */
#include "base/standard_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* From below, so that open() gives the number that is missing. Where there is no /dev/null the
 * process goes on as it was started. */
void standard_fds_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", O_RDWR);
}

/* A pipe without a reader, or a connection without a peer. */
static bool reader_is_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

bool standard_output_end(const char *program)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    failed = fflush(stdout) != 0 || failed;
    if (!failed || reader_is_gone())
        return true;
    fprintf(stderr, "%s: the answer could not be written: %s\n", program,
            errno != 0 ? strerror(errno) : "its end is missing");
    return false;
}
