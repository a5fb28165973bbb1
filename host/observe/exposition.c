#include "observe/exposition.h"
#include "base/clock.h"

#include <inttypes.h>
#include <string.h>

void exposition_family(struct buf *text, const char *name, const char *type, const char *help)
{
    buf_printf(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A backslash, a quote or a newline in a value would end it, or the line. */
static void put_value(struct buf *text, const char *value)
{
    while (*value != '\0') {
        size_t plain = strcspn(value, "\\\"\n");
        buf_put(text, value, plain);
        value += plain;
        if (*value == '\0')
            return;
        buf_putc(text, '\\');
        buf_putc(text, *value == '\n' ? 'n' : *value);
        value++;
    }
}

static void put_series(struct buf *text, const char *name, const char *suffix,
                       const struct exposition_labels *labels)
{
    size_t most = sizeof labels->label / sizeof labels->label[0];
    size_t i = 0;

    buf_printf(text, "%s%s", name, suffix);
    for (; labels != NULL && i < most && labels->label[i].name != NULL; i++) {
        buf_printf(text, "%s%s=\"", i == 0 ? "{" : ",", labels->label[i].name);
        put_value(text, labels->label[i].value);
        buf_putc(text, '"');
    }
    buf_puts(text, i > 0 ? "} " : " ");
}

void exposition_count(struct buf *text, const char *name, const char *suffix,
                      const struct exposition_labels *labels, uint64_t value)
{
    put_series(text, name, suffix, labels);
    buf_printf(text, "%" PRIu64 "\n", value);
}

void exposition_seconds(struct buf *text, const char *name, const char *suffix,
                        const struct exposition_labels *labels, uint64_t nanoseconds)
{
    put_series(text, name, suffix, labels);
    buf_printf(text, "%" PRIu64 ".%09" PRIu64 "\n", nanoseconds / NS_PER_S, nanoseconds % NS_PER_S);
}
