/*
 * Printing what a driver does.
 */
#include "ctl/rollout/driver_report.h"

#include "base/buf.h"
#include "base/limits.h"
#include "ctl/plain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { STEP_COLUMN = 10 };

static void put_time(struct buf *out)
{
    char text[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) != NULL)
        (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    buf_printf(out, "{\"at\": \"%s\"", text);
}

static void put_member(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ", \"%s\": ", name);
    buf_put_json_string(out, text, strlen(text));
}

static void put_lines(struct buf *out, const char *text)
{
    buf_puts(out, ", \"lines\": [");
    for (bool first = true; *text; first = false) {
        size_t size = strcspn(text, "\n");
        buf_puts(out, first ? "" : ", ");
        buf_put_json_string(out, text, size);
        text += size + (text[size] == '\n');
    }
    buf_putc(out, ']');
}

/* A buffer that could not grow prints nothing: there is nobody to tell. */
static void print_json(const struct report *report, const char *step, const char *event,
                       const char *text, const char *more)
{
    struct buf out;
    buf_init(&out, (size_t)8 * LIMIT_MIB);
    put_time(&out);
    put_member(&out, "deployment", report->deployment);
    put_member(&out, "step", step);
    put_member(&out, "event", event);
    put_lines(&out, text);
    buf_puts(&out, more);
    buf_puts(&out, "}\n");
    if (buf_ok(&out))
        plain_print_json(stdout, out.data);
    buf_free(&out);
}

static void print_text(const char *step, const char *text)
{
    do {
        size_t size = strcspn(text, "\n");
        printf("%-*s ", STEP_COLUMN, step);
        plain_print_part(stdout, text, size);
        printf("\n");
        text += size + (text[size] == '\n');
        step = "";
    } while (*text);
}

void report_event(const struct report *report, const char *step, const char *event,
                  const char *text)
{
    if (report->json)
        print_json(report, step, event, text, "");
    else
        print_text(step, text);
    (void)fflush(stdout);
}

void report_wait(const struct report *report, const char *step, const char *text,
                 uint64_t waited_ms, int limit_s)
{
    uint64_t seconds = waited_ms / 1000;
    if (report->json) {
        char more[96];
        (void)snprintf(more, sizeof more, ", \"waited_s\": %" PRIu64 ", \"limit_s\": %d", seconds,
                       limit_s);
        print_json(report, step, "waits", text, more);
    } else {
        printf("%-*s ", STEP_COLUMN, step);
        if (seconds == 0)
            printf("waits, at most %d s, for:\n", limit_s);
        else
            printf("has waited %" PRIu64 " of at most %d s for:\n", seconds, limit_s);
        print_text("", text);
    }
    (void)fflush(stdout);
}
