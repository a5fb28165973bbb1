/*
 * Writing a line without being held up by whoever reads it.
 *
 * O_NONBLOCK belongs to the open file description, which stderr shares with
 * other processes, so it is never set there: a pipe is opened once more
 * through /proc, a socket is sent to with MSG_DONTWAIT. Where /proc is closed
 * to us, poll(2) says whether a line fits.
 */
#include "log/log_sink.h"

#include "base/clock.h"
#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

void log_sink_open(struct log_sink *sink, int fd)
{
    struct stat status;
    *sink = (struct log_sink){.fd = fd, .kind = LOG_SINK_PLAIN};
    if (fstat(fd, &status) < 0)
        return;
    if (S_ISSOCK(status.st_mode)) {
        sink->kind = LOG_SINK_SOCKET;
    } else if (S_ISFIFO(status.st_mode)) {
        char path[64];
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        int own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        sink->kind = LOG_SINK_PIPE;
        if (own >= 0) {
            sink->fd = own;
            sink->own_fd = true;
        }
    }
}

void log_sink_close(struct log_sink *sink)
{
    if (sink->own_fd)
        (void)close(sink->fd);
    *sink = (struct log_sink){.fd = -1};
}

/* True when at least one page of the pipe is free before `until`. */
static bool wait_writable(const struct log_sink *sink, int64_t until)
{
    int64_t left = until - (int64_t)clock_steady_ms();
    struct pollfd ready = {.fd = sink->fd, .events = POLLOUT};
    int n = poll(&ready, 1, left > 0 ? (int)left : 0);
    return n > 0 && (ready.revents & POLLOUT);
}

static ssize_t write_some(const struct log_sink *sink, const char *text, size_t size)
{
    if (sink->kind == LOG_SINK_SOCKET)
        return send(sink->fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    return write(sink->fd, text, size);
}

static bool write_all(struct log_sink *sink, const char *text, size_t size, int64_t until)
{
    bool must_poll = sink->kind == LOG_SINK_PIPE && !sink->own_fd;
    size_t done = 0;
    while (done < size) {
        if (must_poll && !wait_writable(sink, until))
            break;
        ssize_t n = write_some(sink, text + done, size - done);
        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno == EINTR)
            continue;
        else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait_writable(sink, until))
                break;
        } else {
            break;
        }
    }
    if (done > 0)
        sink->torn = done < size;
    return done == size;
}

bool log_sink_write(struct log_sink *sink, const char *line, size_t size)
{
    int64_t until = (int64_t)clock_steady_ms() + (sink->stuck ? 0 : LIMIT_LOG_WAIT_MS);
    bool done = !sink->torn || write_all(sink, "\n", 1, until);
    done = done && write_all(sink, line, size, until);
    sink->stuck = !done;
    if (!done)
        sink->dropped++;
    return done;
}
