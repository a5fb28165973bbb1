/*
 * Names, UUIDs, UTF-8 and the nearest name.
 */
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static char to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool is_word(char c)
{
    return is_lower(to_lower(c)) || is_digit(c) || c == '_';
}

bool text_is_slug(const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || length > LIMIT_SLUG || is_digit(text[0]) || strcmp(text, "run") == 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!is_word(text[i]))
            return false;
    }
    return true;
}

bool text_is_deployment_slug(const char *text)
{
    return text_is_slug(text) && text[0] != '_' && text[strlen(text) - 1] != '_' &&
           strstr(text, "__") == NULL;
}

bool text_is_queue_name(const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || length > LIMIT_QUEUE_NAME)
        return false;
    for (size_t i = 0; i < length; i++) {
        bool inner_hyphen = text[i] == '-' && i > 0 && i + 1 < length && text[i - 1] != '-';
        if (!is_lower(text[i]) && !is_digit(text[i]) && text[i] != '_' && !inner_hyphen)
            return false;
    }
    return true;
}

bool text_is_uuid(const char *text)
{
    if (strlen(text) != LIMIT_UUID_TEXT)
        return false;
    for (size_t i = 0; i < LIMIT_UUID_TEXT; i++) {
        char c = to_lower(text[i]);
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? c != '-' : !is_digit(c) && (c < 'a' || c > 'f'))
            return false;
    }
    return true;
}

bool text_make_uuid(char uuid[LIMIT_UUID_TEXT + 1])
{
    uint8_t b[16];
    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
        return false;
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    (void)snprintf(uuid, LIMIT_UUID_TEXT + 1,
                   "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                   b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                   b[14], b[15]);
    return true;
}

bool text_lower(char *out, size_t size, const char *text)
{
    size_t length = strlen(text);
    if (length >= size)
        return false;
    for (size_t i = 0; i <= length; i++)
        out[i] = to_lower(text[i]);
    return true;
}

/* The table of well-formed sequences (Unicode 3.9, table 3-7): the second byte
 * has its own range after E0, ED, F0 and F4. */
size_t text_utf8_sequence(const char *text, size_t size)
{
    if (size == 0)
        return 0;
    const uint8_t *s = (const uint8_t *)text;
    uint8_t low = 0x80;
    uint8_t high = 0xbf;
    size_t length = 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf)
        length = 2;
    else if (s[0] >= 0xe0 && s[0] <= 0xef)
        length = 3;
    else if (s[0] >= 0xf0 && s[0] <= 0xf4)
        length = 4;
    if (length == 0 || length > size)
        return 0;
    low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : low;
    high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : high;
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    }
    return length;
}

bool text_is_utf8(const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t length = text_utf8_sequence(text + at, size - at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

bool text_is_printable(const char *text)
{
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return false;
    }
    return text_is_utf8(text, strlen(text));
}

size_t text_clean(char *out, size_t out_size, const char *text, size_t size)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t used = 0;
    if (out_size == 0)
        return 0;
    for (size_t at = 0; at < size;) {
        size_t length = text_utf8_sequence(text + at, size - at);
        bool broken = length == 0 || text[at] == '\0';
        const char *from = broken ? replacement : text + at;
        size_t put = broken ? sizeof replacement - 1 : length;
        if (used + put >= out_size)
            break;
        memcpy(out + used, from, put);
        used += put;
        at += broken ? 1 : length;
    }
    out[used] = '\0';
    return used;
}

size_t text_utf8_prefix(const char *text, size_t size, size_t maximum)
{
    if (size <= maximum)
        return size;
    size_t cut = maximum;
    while (cut > 0 && maximum - cut < 3 && ((uint8_t)text[cut] & 0xc0) == 0x80)
        cut--;
    return ((uint8_t)text[cut] & 0xc0) == 0x80 ? maximum : cut;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits from a to b, two swapped neighbours counting as one: three rows of the
 * usual table. Both names are at most LIMIT_FUNCTION_NAME long. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][LIMIT_FUNCTION_NAME + 1];
    size_t columns = strlen(b);
    size_t height = strlen(a);
    for (size_t j = 0; j <= columns; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= height; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            char x = to_lower(a[i - 1]);
            char y = to_lower(b[j - 1]);
            row[j] = least(above[j - 1] + (x != y), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == to_lower(b[j - 2]) && to_lower(a[i - 2]) == y)
                row[j] = least(row[j], rows[(i - 2) % 3][j - 2] + 1);
        }
    }
    return rows[height % 3][columns];
}

const char *text_shown(const char *text)
{
    bool is_url = strstr(text, "://") != NULL || strstr(text, "password=") != NULL;
    return is_url ? "(a database URL, not shown; it goes with --database)" : text;
}

const char *text_nearest(const char *name, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    size_t best = LIMIT_NEAREST_DISTANCE + 1;
    size_t length = strlen(name);
    if (length > LIMIT_FUNCTION_NAME)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(names[i]);
        if (other > LIMIT_FUNCTION_NAME)
            continue;
        size_t distance = edit_distance(name, names[i]);
        size_t longer = other > length ? other : length;
        if (distance < best && distance * 3 <= longer) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
