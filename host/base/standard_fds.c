/*
 * Descriptors 0, 1 and 2; see standard_fds.h.
 */
#include "base/standard_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* From below, so that open() gives the number that is missing. Where there is no /dev/null the
 * process goes on as it was started. */
void standard_fds_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", O_RDWR);
}
