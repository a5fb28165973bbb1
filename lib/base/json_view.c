#include "base/json_view.h"

#include "base/json_check.h"

#include <stdint.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Behind blanks and what separates values. */
static const char *skip_between(const char *at, const char *end)
{
    while (at < end && (is_blank(*at) || *at == ',' || *at == ':'))
        at++;
    return at;
}

static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    return at < end ? at + 1 : end;
}

static const char *skip_scalar(const char *at, const char *end)
{
    while (at < end && !is_blank(*at) && strchr(",:]}", *at) == NULL)
        at++;
    return at;
}

static const char *skip_value(const char *at, const char *end)
{
    size_t depth = 0;

    do {
        if (*at == '"') {
            at = skip_string(at, end);
        } else if (*at == '{' || *at == '[') {
            depth++;
            at++;
        } else if (*at == '}' || *at == ']') {
            depth--;
            at++;
        } else {
            at = skip_scalar(at, end);
        }
        if (depth > 0)
            at = skip_between(at, end);
    } while (depth > 0 && at < end);
    return at;
}

bool json_view_open(struct json_view *view, const char *text, size_t size, struct error *error)
{
    if (!json_check_text(text, size, error))
        return false;
    const char *from = skip_between(text, text + size);
    *view = (struct json_view){.text = from};
    view->size = (size_t)(skip_value(from, text + size) - from);
    return true;
}

struct json_walk json_view_walk(struct json_view view)
{
    return (struct json_walk){.at = view.text + 1, .end = view.text + view.size - 1};
}

bool json_walk_element(struct json_walk *walk, struct json_view *value)
{
    walk->at = skip_between(walk->at, walk->end);
    if (walk->at >= walk->end)
        return false;
    value->text = walk->at;
    walk->at = skip_value(walk->at, walk->end);
    value->size = (size_t)(walk->at - value->text);
    return true;
}

bool json_walk_member(struct json_walk *walk, struct json_view *key, struct json_view *value)
{
    return json_walk_element(walk, key) && json_walk_element(walk, value);
}

static bool is_named(struct json_view key, const char *name)
{
    size_t size = strlen(name);

    if (key.size == size + 2)
        return memcmp(key.text + 1, name, size) == 0;
    if (memchr(key.text, '\\', key.size) == NULL)
        return false;
    struct buf said;
    buf_init(&said, key.size);
    json_view_put_string(&said, key);
    bool same = buf_ok(&said) && said.size == size && memcmp(said.data, name, size) == 0;
    buf_free(&said);
    return same;
}

bool json_view_member(struct json_view object, const char *name, struct json_view *value)
{
    struct json_view key, candidate;
    bool found = false;

    if (object.size == 0 || object.text[0] != '{')
        return false;
    struct json_walk walk = json_view_walk(object);
    while (json_walk_member(&walk, &key, &candidate))
        if (is_named(key, name)) {
            *value = candidate;
            found = true;
        }
    return found;
}

static uint32_t hex_unit(const char *digits)
{
    uint32_t unit = 0;

    for (size_t i = 0; i < 4; i++) {
        char c = digits[i];
        uint32_t digit = c <= '9' ? (uint32_t)(c - '0') : (uint32_t)((c | 0x20) - 'a') + 10;
        unit = unit << 4 | digit;
    }
    return unit;
}

static void put_utf8(struct buf *out, uint32_t code)
{
    if (code < 0x80) {
        buf_putc(out, (char)code);
    } else if (code < 0x800) {
        buf_putc(out, (char)(0xC0 | code >> 6));
        buf_putc(out, (char)(0x80 | (code & 0x3F)));
    } else if (code < 0x10000) {
        buf_putc(out, (char)(0xE0 | code >> 12));
        buf_putc(out, (char)(0x80 | (code >> 6 & 0x3F)));
        buf_putc(out, (char)(0x80 | (code & 0x3F)));
    } else {
        buf_putc(out, (char)(0xF0 | code >> 18));
        buf_putc(out, (char)(0x80 | (code >> 12 & 0x3F)));
        buf_putc(out, (char)(0x80 | (code >> 6 & 0x3F)));
        buf_putc(out, (char)(0x80 | (code & 0x3F)));
    }
}

/* From the letter behind the backslash on; returns where the text goes on. */
static const char *put_escape(struct buf *out, const char *at)
{
    static const char letters[] = "bfnrt", bytes[] = "\b\f\n\r\t";
    const char *letter = strchr(letters, *at);

    if (*at != 'u') {
        buf_putc(out, letter != NULL ? bytes[letter - letters] : *at);
        return at + 1;
    }
    uint32_t code = hex_unit(at + 1);
    at += 5;
    if (code >= 0xD800 && code < 0xDC00) { /* its other half follows: json_check saw to it */
        code = 0x10000 + ((code - 0xD800) << 10) + (hex_unit(at + 2) - 0xDC00);
        at += 6;
    }
    put_utf8(out, code);
    return at;
}

void json_view_put_string(struct buf *out, struct json_view string)
{
    const char *at = string.text + 1, *end = string.text + string.size - 1;

    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        const char *stop = escape != NULL ? escape : end;
        buf_put(out, at, (size_t)(stop - at));
        at = escape != NULL ? put_escape(out, escape + 1) : end;
    }
}
