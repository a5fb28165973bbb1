/*
 * From an event to its line, in three formats. Nothing in a value can end the
 * line or start an escape sequence on a terminal.
 */
#include "base/buf.h"
#include "base/text.h"
#include "base/unseen.h"
#include "log/log.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Left free at the end of a line for its `truncated` field. */
#define TAIL_ROOM 64

static const char *const colours[] = {
    [LOG_LEVEL_DEBUG] = "\x1b[2m",  [LOG_LEVEL_INFO] = "\x1b[32m",    [LOG_LEVEL_WARN] = "\x1b[33m",
    [LOG_LEVEL_ERROR] = "\x1b[31m", [LOG_LEVEL_FATAL] = "\x1b[1;31m",
};

static const char *const level_names[] = {
    [LOG_LEVEL_DEBUG] = "debug", [LOG_LEVEL_INFO] = "info",   [LOG_LEVEL_WARN] = "warn",
    [LOG_LEVEL_ERROR] = "error", [LOG_LEVEL_FATAL] = "fatal",
};

const char *log_level_name(enum log_level level)
{
    return level_names[level];
}

/* DEL and the C1 controls, which a terminal obeys though JSON allows them. */
static void blunt_controls(char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == 0x7f)
            text[i] = '?';
        else if (c == 0xc2 && i + 1 < size && (unsigned char)text[i + 1] < 0xa0)
            text[i + 1] = (char)0xbf;
    }
}

static void put_quoted(struct buf *line, const char *text)
{
    char clean[LIMIT_LOG_VALUE];
    size_t size = text_clean(clean, sizeof clean, text, strlen(text));
    blunt_controls(clean, size);
    buf_put_json_string(line, clean, size);
}

static bool is_bare(const char *text)
{
    if (*text == '\0')
        return false;
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\')
            return false;
    }
    return true;
}

static void put_text(struct buf *line, enum log_format format, const char *text)
{
    if (format == LOG_FORMAT_JSON || !is_bare(text) || strlen(text) >= LIMIT_LOG_VALUE)
        put_quoted(line, text);
    else
        buf_puts(line, text);
}

static void put_value(struct buf *line, enum log_format format, const struct log_field *field)
{
    switch (field->kind) {
    case LOG_KIND_TEXT:
        put_text(line, format, field->value.text);
        break;
    case LOG_KIND_INTEGER:
        buf_printf(line, "%lld", (long long)field->value.integer);
        break;
    case LOG_KIND_REAL:
        if (isfinite(field->value.real))
            buf_printf(line, "%.3f", field->value.real);
        else
            buf_puts(line, "null");
        break;
    case LOG_KIND_BOOL:
        buf_puts(line, field->value.integer ? "true" : "false");
        break;
    }
}

static void put_field(struct buf *line, enum log_format format, bool colour,
                      const struct log_field *field)
{
    if (format == LOG_FORMAT_JSON) {
        buf_putc(line, ',');
        put_quoted(line, field->key);
        buf_putc(line, ':');
    } else {
        buf_printf(line, colour ? " \x1b[2m%s=\x1b[0m" : " %s=", field->key);
    }
    put_value(line, format, field);
}

static void put_time(struct buf *line, enum log_format format, int64_t ts)
{
    time_t seconds = (time_t)(ts / 1000000);
    struct tm utc;
    char text[32] = "";
    gmtime_r(&seconds, &utc);
    (void)strftime(text, sizeof text, format == LOG_FORMAT_PRETTY ? "%H:%M:%S" : "%FT%T", &utc);
    if (format == LOG_FORMAT_PRETTY)
        buf_printf(line, "%s.%03d", text, (int)(ts % 1000000 / 1000));
    else
        buf_printf(line, "%s.%06dZ", text, (int)(ts % 1000000));
}

/* Everything before the fields. */
static void put_head(struct buf *line, enum log_format format, bool colour, int64_t ts,
                     enum log_level level, const char *event, const char *msg)
{
    const char *name = log_level_name(level);
    if (format == LOG_FORMAT_JSON) {
        buf_puts(line, "{\"ts\":\"");
        put_time(line, format, ts);
        buf_printf(line, "\",\"level\":\"%s\",\"event\":", name);
        put_quoted(line, event);
        buf_puts(line, ",\"msg\":");
        put_quoted(line, msg);
    } else if (format == LOG_FORMAT_LOGFMT) {
        buf_puts(line, "ts=");
        put_time(line, format, ts);
        buf_printf(line, " level=%s event=", name);
        put_text(line, format, event);
        buf_puts(line, " msg=");
        put_text(line, format, msg);
    } else {
        char clean[LIMIT_LOG_VALUE];
        size_t size = text_clean(clean, sizeof clean, msg, strlen(msg));
        for (size_t i = 0; i < size; i++)
            clean[i] = (unsigned char)clean[i] < ' ' ? ' ' : clean[i];
        blunt_controls(clean, size);
        (void)unseen_replace(clean, size);
        put_time(line, format, ts);
        buf_printf(line, colour ? " %s%-5s\x1b[0m %s" : "%s %-5s %s", colour ? colours[level] : "",
                   name, clean);
    }
}

/* Undoes a field that did not fit; true when it had to. */
static bool cut_back(struct buf *line, size_t end)
{
    if (buf_ok(line) && line->size <= LIMIT_LOG_LINE - TAIL_ROOM)
        return false;
    line->failed = false;
    if (line->size > end) {
        line->size = end;
        line->data[end] = '\0';
    }
    return true;
}

void log_render(struct buf *line, enum log_format format, bool colour, int64_t ts,
                enum log_level level, const char *event, const char *msg,
                const struct log_field *fields, size_t count)
{
    bool truncated = false;
    if (format == LOG_FORMAT_AUTO)
        format = LOG_FORMAT_LOGFMT;
    put_head(line, format, colour, ts, level, event, msg);
    for (size_t i = 0; i < count; i++) {
        if (fields[i].key == NULL ||
            (fields[i].kind == LOG_KIND_TEXT && fields[i].value.text == NULL))
            continue;
        size_t end = line->size;
        put_field(line, format, colour, &fields[i]);
        truncated = cut_back(line, end) || truncated;
    }
    if (truncated)
        put_field(line, format, colour, &LOG_FIELD_BOOL("truncated", true));
    buf_puts(line, format == LOG_FORMAT_JSON ? "}\n" : "\n");
}
