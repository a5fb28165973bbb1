/*
 * What is not seen; see unseen.h.
 */
#include "base/unseen.h"

#include "base/text.h"

#include <string.h>

/* Unicode 15: Cf, Zl, Zp, and the tags, which are all default ignorable. */
static const struct {
    uint32_t first, last;
} ranges[] = {
    {0x00ad, 0x00ad},   {0x0600, 0x0605},   {0x061c, 0x061c},   {0x06dd, 0x06dd},
    {0x070f, 0x070f},   {0x0890, 0x0891},   {0x08e2, 0x08e2},   {0x180e, 0x180e},
    {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},   {0xfeff, 0xfeff},
    {0xfff9, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

uint32_t unseen_code_point(const char *text, size_t bytes)
{
    static const unsigned char lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)text[0] & lead[bytes];

    for (size_t i = 1; i < bytes; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    return code;
}

bool unseen_is(uint32_t code)
{
    if (code < 0xa0)
        return code < ' ' || code >= 0x7f;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

/* Of the character at `text`: its bytes, and its code where it is not seen and not C0; else 0. */
static uint32_t look_at(const char *text, size_t size, size_t *bytes)
{
    uint32_t code;

    *bytes = text_utf8_sequence(text, size);
    if (*bytes == 0) {
        *bytes = 1;
        return 0;
    }
    code = unseen_code_point(text, *bytes);
    return code >= 0x7f && unseen_is(code) ? code : 0;
}

size_t unseen_replace(char *text, size_t size)
{
    size_t used = 0;
    size_t bytes;

    for (size_t at = 0; at < size; at += bytes) {
        bool unseen = look_at(text + at, size - at, &bytes) != 0;

        memmove(text + used, unseen ? "?" : text + at, unseen ? 1 : bytes);
        used += unseen ? 1 : bytes;
    }
    text[used] = '\0';
    return used;
}

static void put_escape(struct buf *out, uint32_t code)
{
    if (code > 0xffff)
        buf_printf(out, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (code >> 10)),
                   (unsigned)(0xdc00 | (code & 0x3ff)));
    else
        buf_printf(out, "\\u%04x", (unsigned)code);
}

void unseen_escape(struct buf *out, const char *text, size_t size,
                   void (*put)(struct buf *out, const void *text, size_t size))
{
    size_t from = 0;
    size_t bytes;

    for (size_t at = 0; at < size; at += bytes) {
        uint32_t code = look_at(text + at, size - at, &bytes);

        if (code == 0)
            continue;
        put(out, text + from, at - from);
        put_escape(out, code);
        from = at + bytes;
    }
    put(out, text + from, size - from);
}

void unseen_put_json(struct buf *out, const char *json, size_t size)
{
    unseen_escape(out, json, size, buf_put);
}
