/*
 * Where log lines go: a file descriptor that may be a full pipe. Private to
 * the log.
 */
#ifndef PGFLOW_LOG_LOG_SINK_H
#define PGFLOW_LOG_LOG_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_sink_kind {
    LOG_SINK_PLAIN,  /* file, terminal: write(2) */
    LOG_SINK_PIPE,   /* our own non-blocking description of the same pipe */
    LOG_SINK_SOCKET, /* the journal's: send(2) with MSG_DONTWAIT */
};

struct log_sink {
    int fd;
    bool own_fd; /* opened by us */
    enum log_sink_kind kind;
    bool torn;        /* the last line was cut off: a newline goes first */
    bool stuck;       /* the last line was dropped: do not wait for the next */
    uint64_t dropped; /* lines since the last that got through */
};

void log_sink_open(struct log_sink *sink, int fd);
void log_sink_close(struct log_sink *sink);

/* One line with its newline. Waits at most LIMIT_LOG_WAIT_MS; false when it
 * was dropped (and counted). Never raises SIGPIPE on sockets; the programs
 * ignore it. */
bool log_sink_write(struct log_sink *sink, const char *line, size_t size);

#endif
