/*
 * Text on a terminal; see plain.h.
 */
#include "ctl/plain.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/unseen.h"

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

enum { LONGEST_SEQUENCE = 4 };

struct character {
    size_t bytes, columns;
    bool shown; /* as it is */
};

/* The C library knows the widths, but in a locale of UTF-8 only; ours is C. Where there
 * is none each character beyond ASCII counts as one column. */
static size_t columns_of(uint32_t code)
{
    static locale_t utf8;
    static bool asked;
    if (!asked)
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    asked = true;
    if (code < 0x7f || utf8 == (locale_t)0)
        return 1;
    locale_t before = uselocale(utf8);
    int columns = wcwidth((wchar_t)code);
    (void)uselocale(before);
    return columns < 0 ? 1 : (size_t)columns;
}

static struct character look_at(const char *text)
{
    size_t bytes = text_utf8_sequence(text, strnlen(text, LONGEST_SEQUENCE));
    if (bytes == 0)
        return (struct character){.bytes = 1, .columns = 1};
    uint32_t code = unseen_code_point(text, bytes);
    bool shown = !unseen_is(code);
    return (struct character){
        .bytes = bytes, .columns = shown ? columns_of(code) : 1, .shown = shown};
}

/* C0, DEL, C1. */
static bool is_control(const char *text, size_t bytes)
{
    unsigned char first = (unsigned char)*text;
    return bytes == 1 ? first < 0x80 : bytes == 2 && unseen_code_point(text, 2) < 0xa0;
}

static void put(FILE *out, const char *text, const struct character *character)
{
    if (character->shown)
        (void)fwrite(text, 1, character->bytes, out);
    else
        (void)fputc(is_control(text, character->bytes) ? ' ' : '?', out);
}

size_t plain_columns(const char *text)
{
    size_t columns = 0;
    while (*text) {
        struct character character = look_at(text);
        columns += character.columns;
        text += character.bytes;
    }
    return columns;
}

const char *plain_print_line(FILE *out, const char *text, size_t *columns)
{
    while (*text) {
        struct character character = look_at(text);
        if (character.columns > *columns)
            break;
        put(out, text, &character);
        *columns -= character.columns;
        text += character.bytes;
    }
    return text;
}

void plain_print(FILE *out, const char *text)
{
    plain_print_part(out, text, strlen(text));
}

void plain_print_part(FILE *out, const char *text, size_t size)
{
    const char *end = text + size;
    while (text < end) {
        struct character character = look_at(text);
        if (*text == '\n' || *text == '\t')
            (void)fputc(*text, out);
        else
            put(out, text, &character);
        text += character.bytes;
    }
}

void plain_print_one_line(FILE *out, const char *text)
{
    size_t columns = SIZE_MAX;
    (void)plain_print_line(out, text, &columns);
}

void plain_print_json(FILE *out, const char *json)
{
    struct buf text;
    buf_init(&text, LIMIT_DB_STATEMENT_BYTES);
    unseen_put_json(&text, json, strlen(json));
    if (buf_ok(&text))
        (void)fwrite(text.data, 1, text.size, out);
    else
        plain_print(out, json); /* without memory what cannot be shown is blank */
    buf_free(&text);
}
