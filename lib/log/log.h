/*
 * The structured log: one event, one line, one write(2), to stderr. Used by the
 * coordinator and pgflowctl from their one thread.
 *
 *     log_info("task_done", "task completed", LOG_QUEUE(queue), LOG_FLOW(flow), LOG_STEP(step),
 *              LOG_RUN(run_id), LOG_TASK(index), LOG_ATTEMPT(attempt), LOG_MS(ms));
 *
 * `event` is for machines and never changes; `msg` is for people. Never pass a
 * message body, an input, an output or a credential. Fields with a NULL text
 * are left out. Values are cleaned (UTF-8, control bytes escaped) and cut at
 * LIMIT_LOG_VALUE, so that no value can forge a line.
 *
 * A full pipe never holds up the loop: a line waits at most LIMIT_LOG_WAIT_MS,
 * then it is dropped; the next one that gets through is preceded by a
 * `log_dropped` event with the count.
 */
#ifndef PGFLOW_LOG_LOG_H
#define PGFLOW_LOG_LOG_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level {
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_INFO,
    LOG_LEVEL_WARN,
    LOG_LEVEL_ERROR,
    LOG_LEVEL_FATAL,
};

enum log_format {
    LOG_FORMAT_AUTO, /* pretty on a terminal, else logfmt */
    LOG_FORMAT_PRETTY,
    LOG_FORMAT_LOGFMT,
    LOG_FORMAT_JSON,
};

enum log_kind { LOG_KIND_TEXT, LOG_KIND_INTEGER, LOG_KIND_REAL, LOG_KIND_BOOL };

struct log_field {
    const char *key; /* lower case, no blanks; a literal */
    enum log_kind kind;
    union {
        const char *text;
        int64_t integer;
        double real;
    } value;
};

/* The keys of the contract. */
#define LOG_QUEUE(v) LOG_FIELD_TEXT("queue", v)
#define LOG_FLOW(v) LOG_FIELD_TEXT("flow", v)
#define LOG_STEP(v) LOG_FIELD_TEXT("step", v)
#define LOG_RUN(v) LOG_FIELD_TEXT("run", v)
#define LOG_TASK(v) LOG_FIELD_INT("task", v)
#define LOG_ATTEMPT(v) LOG_FIELD_INT("attempt", v)
#define LOG_MSG_ID(v) LOG_FIELD_INT("msg_id", v)
#define LOG_WORKER(v) LOG_FIELD_TEXT("worker", v)
#define LOG_PID(v) LOG_FIELD_INT("pid", v)
#define LOG_MS(v) LOG_FIELD_REAL("ms", v)
#define LOG_ERROR(v) LOG_FIELD_TEXT("error", v)

/* Keys of one event's own, such as compilation or sha256. */
#define LOG_FIELD_TEXT(k, v)                                                                       \
    ((struct log_field){.key = (k), .kind = LOG_KIND_TEXT, .value.text = (v)})
#define LOG_FIELD_INT(k, v)                                                                        \
    ((struct log_field){.key = (k), .kind = LOG_KIND_INTEGER, .value.integer = (int64_t)(v)})
#define LOG_FIELD_REAL(k, v)                                                                       \
    ((struct log_field){.key = (k), .kind = LOG_KIND_REAL, .value.real = (double)(v)})
#define LOG_FIELD_BOOL(k, v)                                                                       \
    ((struct log_field){.key = (k), .kind = LOG_KIND_BOOL, .value.integer = (v) ? 1 : 0})
/* A field that is left out when `v` is NULL is LOG_FIELD_TEXT already; this is
 * one that is always left out, for conditional fields. */
#define LOG_FIELD_NONE ((struct log_field){.key = NULL})

#define log_debug(event, msg, ...) LOG_AT(LOG_LEVEL_DEBUG, event, msg, ##__VA_ARGS__)
#define log_info(event, msg, ...) LOG_AT(LOG_LEVEL_INFO, event, msg, ##__VA_ARGS__)
#define log_warn(event, msg, ...) LOG_AT(LOG_LEVEL_WARN, event, msg, ##__VA_ARGS__)
#define log_error(event, msg, ...) LOG_AT(LOG_LEVEL_ERROR, event, msg, ##__VA_ARGS__)
#define log_fatal(event, msg, ...) LOG_AT(LOG_LEVEL_FATAL, event, msg, ##__VA_ARGS__)

/* LOG_AT(level, event, msg, fields...): the fields are evaluated only when the
 * level is on. The list begins with a field that is left out, because it may
 * not be empty. */
#define LOG_AT(level, event, msg, ...)                                                             \
    do {                                                                                           \
        if (log_is_on(level))                                                                      \
            log_write(level, event, msg, LOG_LIST_(__VA_ARGS__), LOG_COUNT_(__VA_ARGS__));         \
    } while (0)
#define LOG_LIST_(...) ((const struct log_field[]){LOG_FIELD_NONE, ##__VA_ARGS__})
#define LOG_COUNT_(...) (sizeof(LOG_LIST_(__VA_ARGS__)) / sizeof(struct log_field))

/* `fd` is usually STDERR_FILENO; it is never closed and its flags are never
 * changed (they are shared with other processes). Before the first call lines
 * go to stderr at level info in the AUTO format. */
void log_open(int fd, enum log_format format, enum log_level level);

const char *log_level_name(enum log_level level);

/* What AUTO turned into. */
enum log_format log_format_used(void);

bool log_is_on(enum log_level level);
void log_write(enum log_level level, const char *event, const char *msg,
               const struct log_field *fields, size_t count);

/* The line that log_write would write, with its newline: for tests and for the
 * banner. `ts` is microseconds since 1970. */
struct buf;
void log_render(struct buf *line, enum log_format format, bool colour, int64_t ts,
                enum log_level level, const char *event, const char *msg,
                const struct log_field *fields, size_t count);

#endif
