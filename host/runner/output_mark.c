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

struct marked_pipe {
    int fd;
    uint64_t reads_before; /* the host's, when the handler began */
};

static const struct cancel_page *page;
static struct marked_pipe pipes[2]; /* as in page->reads */

bool output_mark_init(const struct cancel_page *the_page, struct error *error)
{
    page = the_page;
    setvbuf(stdout, NULL, _IOLBF, 0);
    pipes[0].fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, RUNNER_FD_FIRST_FREE);
    pipes[1].fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, RUNNER_FD_FIRST_FREE);
    if (pipes[0].fd < 0 || pipes[1].fd < 0)
        return error_set(error, ERROR_INTERNAL, "stdout and stderr: %s", strerror(errno));
    return true;
}

void output_mark_begin(void)
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

static bool mark(int place, uint64_t number)
{
    struct frame_marker marker = {.number_low = (uint32_t)number,
                                  .number_high = (uint32_t)(number >> 32)};

    if (is_quiet(place))
        return false;
    memcpy(marker.magic, FRAME_MARKER_MAGIC, sizeof marker.magic);
    return write(pipes[place].fd, &marker, sizeof marker) == (ssize_t)sizeof marker;
}

uint32_t output_mark_end(uint64_t number)
{
    uint32_t flags = 0;

    fflush(stdout);
    fflush(stderr);
    if (mark(0, number))
        flags |= FRAME_RESULT_STDOUT;
    if (mark(1, number))
        flags |= FRAME_RESULT_STDERR;
    return flags;
}
