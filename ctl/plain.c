/*
 * Text on a terminal; see plain.h.
 */
#include "ctl/plain.h"

#include "base/text.h"

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

/* Of a well-formed sequence. */
static uint32_t code_point(const char *text, size_t bytes)
{
    static const unsigned char lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)text[0] & lead[bytes];
    for (size_t i = 1; i < bytes; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    return code;
}

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
    uint32_t code = code_point(text, bytes);
    bool control = code < ' ' || (code >= 0x7f && code < 0xa0);
    return (struct character){
        .bytes = bytes, .columns = control ? 1 : columns_of(code), .shown = !control};
}

static void put(FILE *out, const char *text, const struct character *character)
{
    if (character->shown)
        (void)fwrite(text, 1, character->bytes, out);
    else
        (void)fputc((unsigned char)*text >= 0x80 && character->bytes == 1 ? '?' : ' ', out);
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
