/*
 * Marks the end of a task's output; see output_marker.h.
 */
#include "runner/output_marker.h"

#include "base/fd_wait.h"
#include "runner/options.h"
#include "wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct marker_pipe {
    int fd;
    uint64_t reads_before; /* the host's, when the handler began */
};

static const struct cancel_page *page;
static struct marker_pipe pipes[2]; /* as in page->reads */

bool output_marker_init(const struct cancel_page *the_page, struct error *error)
{
    page = the_page;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    pipes[0].fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, RUNNER_FD_PARTS);
    pipes[1].fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, RUNNER_FD_PARTS);
    if (pipes[0].fd < 0 || pipes[1].fd < 0)
        return error_set(error, ERROR_INTERNAL, "stdout and stderr: %s", strerror(errno));
    return true;
}

void output_marker_begin(void)
{
    for (int i = 0; i < 2; i++)
        pipes[i].reads_before = atomic_load(&page->reads[i]);
}

/* An empty pipe alone proves nothing: the host may just have read it and, not yet
 * aware of the answer, be about to read on into what the next task prints. */
static bool is_quiet(int place)
{
    int unread = 0;

    return ioctl(pipes[place].fd, FIONREAD, &unread) == 0 && unread == 0 &&
           pipes[place].reads_before % 2 == 0 &&
           atomic_load(&page->reads[place]) == pipes[place].reads_before;
}

/* A handler that makes the pipe non-blocking does it to those after it, too. */
static void make_blocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags > 0 && (flags & O_NONBLOCK) != 0)
        (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

/* Whole or not at all: it is shorter than PIPE_BUF. A child of the handler may have
 * made the pipe non-blocking once more. */
static bool write_marker(int fd, const struct frame_marker *marker)
{
    ssize_t written;

    while ((written = write(fd, marker, sizeof *marker)) < 0) {
        if (errno == EAGAIN)
            fd_wait(fd, POLLOUT);
        else if (errno != EINTR)
            return false;
    }
    return written == (ssize_t)sizeof *marker;
}

static bool mark_stream(int place, uint64_t number)
{
    struct frame_marker marker = {.number_low = (uint32_t)number,
                                  .number_high = (uint32_t)(number >> 32)};

    if (is_quiet(place))
        return false;
    memcpy(marker.magic, FRAME_MARKER_MAGIC, sizeof marker.magic);
    make_blocking(pipes[place].fd);
    return write_marker(pipes[place].fd, &marker);
}

/* A stream drops what a pipe has no room for, where it does not block. */
static void flush(FILE *stream, int fd)
{
    if (__fpending(stream) > 0)
        make_blocking(fd);
    (void)fflush(stream);
}

void output_flush(void)
{
    flush(stdout, STDOUT_FILENO);
    flush(stderr, STDERR_FILENO);
}

uint32_t output_marker_end(uint64_t number)
{
    uint32_t flags = 0;

    output_flush();
    if (mark_stream(0, number))
        flags |= FRAME_RESULT_STDOUT;
    if (mark_stream(1, number))
        flags |= FRAME_RESULT_STDERR;
    return flags;
}
