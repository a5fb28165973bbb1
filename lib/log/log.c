/*
 * The log of this process: level, format and sink. One thread.
 */
#include "log/log.h"

#include "base/buf.h"
#include "base/clock.h"
#include "log/log_sink.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    bool is_open;
    bool colour;
    bool to_journal; /* each line begins with its priority, sd-daemon(3) */
    enum log_format format;
    enum log_level level;
    struct log_sink sink;
    struct buf line; /* kept, so that a line costs no allocation */
} state;

/* Those of syslog(3), whose header has names that ours has too. */
static const int journal_priorities[] = {
    [LOG_LEVEL_DEBUG] = 7, [LOG_LEVEL_INFO] = 6,  [LOG_LEVEL_WARN] = 4,
    [LOG_LEVEL_ERROR] = 3, [LOG_LEVEL_FATAL] = 2,
};

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0';
}

/* systemd names the journal's end of stdout and stderr as device:inode (systemd.exec(5)). */
static bool is_the_journal(int fd)
{
    const char *stream = getenv("JOURNAL_STREAM");
    char own[64];
    struct stat status;
    if (stream == NULL || fstat(fd, &status) < 0)
        return false;
    (void)snprintf(own, sizeof own, "%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
    return strcmp(stream, own) == 0;
}

void log_open(int fd, enum log_format format, enum log_level level)
{
    bool terminal = isatty(fd) == 1;
    if (state.is_open)
        log_sink_close(&state.sink);
    else
        buf_init(&state.line, LIMIT_LOG_LINE);
    log_sink_open(&state.sink, fd);
    state.is_open = true;
    state.level = level;
    state.format = format;
    if (format == LOG_FORMAT_AUTO)
        state.format = terminal ? LOG_FORMAT_PRETTY : LOG_FORMAT_LOGFMT;
    state.colour = terminal && state.format == LOG_FORMAT_PRETTY && !is_set("NO_COLOR");
    state.to_journal = is_the_journal(fd);
}

static void ensure_open(void)
{
    if (!state.is_open)
        log_open(STDERR_FILENO, LOG_FORMAT_AUTO, LOG_LEVEL_INFO);
}

enum log_format log_format_used(void)
{
    ensure_open();
    return state.format;
}

bool log_is_on(enum log_level level)
{
    ensure_open();
    return level >= state.level;
}

static bool emit(enum log_level level, const char *event, const char *msg,
                 const struct log_field *fields, size_t count)
{
    buf_clear(&state.line);
    if (state.to_journal)
        buf_printf(&state.line, "<%d>", journal_priorities[level]);
    log_render(&state.line, state.format, state.colour, clock_calendar_us(), level, event, msg,
               fields, count);
    return buf_ok(&state.line) && log_sink_write(&state.sink, state.line.data, state.line.size);
}

/* The count goes before the line, so that the gap is where it was. */
static void report_dropped(void)
{
    uint64_t dropped = state.sink.dropped;
    struct log_field count = LOG_FIELD_INT("dropped", dropped);
    if (dropped == 0)
        return;
    if (emit(LOG_LEVEL_WARN, "log_dropped", "log lines were dropped: nobody read them in time",
             &count, 1))
        state.sink.dropped -= dropped;
    else
        state.sink.dropped = dropped;
}

void log_write(enum log_level level, const char *event, const char *msg,
               const struct log_field *fields, size_t count)
{
    ensure_open();
    report_dropped();
    (void)emit(level, event, msg, fields, count);
}
