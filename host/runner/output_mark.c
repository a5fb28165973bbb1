/*
 * Marks the end of a task's output; see output_mark.h.
 */
#include "runner/output_mark.h"

#include "runner/options.h"
#include "wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int stdout_pipe = -1;
static int stderr_pipe = -1;

bool output_mark_init(struct error *error)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    stdout_pipe = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, RUNNER_FD_FIRST_FREE);
    stderr_pipe = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, RUNNER_FD_FIRST_FREE);
    if (stdout_pipe < 0 || stderr_pipe < 0)
        return error_set(error, ERROR_INTERNAL, "stdout and stderr: %s", strerror(errno));
    return true;
}

/* An empty pipe needs no mark: the host has read all of it before the answer. */
static bool mark(int pipe_fd, uint64_t number)
{
    struct frame_marker marker = {.number_low = (uint32_t)number,
                                  .number_high = (uint32_t)(number >> 32)};
    int unread = 0;

    if (ioctl(pipe_fd, FIONREAD, &unread) != 0 || unread == 0)
        return false;
    memcpy(marker.magic, FRAME_MARKER_MAGIC, sizeof marker.magic);
    return write(pipe_fd, &marker, sizeof marker) == (ssize_t)sizeof marker;
}

uint32_t output_mark_end(uint64_t number)
{
    uint32_t flags = 0;

    fflush(stdout);
    fflush(stderr);
    if (mark(stdout_pipe, number))
        flags |= FRAME_RESULT_STDOUT;
    if (mark(stderr_pipe, number))
        flags |= FRAME_RESULT_STDERR;
    return flags;
}
