/*
 * JSON strings into a buffer.
 */
#include "base/buf.h"

#include "base/unseen.h"

/* The letter of a two-character escape, or 0. */
static char short_escape(char c)
{
    switch (c) {
    case '"':
    case '\\':
        return c;
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return 0;
    }
}

static void put_escaped(struct buf *buf, const void *from_text, size_t size)
{
    const char *text = from_text;
    size_t from = 0;
    for (size_t i = 0; i < size; i++) {
        char letter = short_escape(text[i]);
        if (!letter && (unsigned char)text[i] >= 0x20)
            continue;
        buf_put(buf, text + from, i - from);
        if (letter) {
            char pair[2] = {'\\', letter};
            buf_put(buf, pair, sizeof pair);
        } else {
            buf_printf(buf, "\\u%04x", (unsigned)(unsigned char)text[i]);
        }
        from = i + 1;
    }
    buf_put(buf, text + from, size - from);
}

void buf_put_json_string(struct buf *buf, const char *text, size_t size)
{
    buf_putc(buf, '"');
    unseen_escape(buf, text, size, put_escaped);
    buf_putc(buf, '"');
}
