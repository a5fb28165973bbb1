/*
 * One text for all JSON that jsonb holds for equal; see json_view.h. Strings and keys come with
 * their length before them, so no two values run into each other.
 */
#include "base/json_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Beyond it jsonb takes no number anyway. */
#define EXPONENT_MAX INT64_C(1000000000000)

struct member {
    struct buf key;
    struct json_view value;
    size_t place;
};

static void put_sized(struct buf *out, const char *text, size_t size)
{
    buf_printf(out, "%zu:", size);
    buf_put(out, text, size);
}

static void put_string(struct buf *out, struct json_view string)
{
    struct buf said;

    buf_init(&said, string.size);
    json_view_put_string(&said, string);
    if (buf_ok(&said))
        put_sized(out, said.data, said.size);
    else
        out->failed = true;
    buf_free(&said);
}

static int64_t read_exponent(const char *at, const char *end)
{
    bool negative = at < end && *at == '-';
    int64_t exponent = 0;

    if (at < end && (*at == '-' || *at == '+'))
        at++;
    for (; at < end && exponent < EXPONENT_MAX; at++)
        exponent = exponent * 10 + (*at - '0');
    return negative ? -exponent : exponent;
}

/* Digits without zeros at either end, and the power of ten of the last one: 12.50 is 125e-1. */
static void put_number(struct buf *out, struct json_view number)
{
    const char *at = number.text, *end = number.text + number.size;
    bool negative = *at == '-', behind_point = false;
    int64_t exponent = 0;
    struct buf digits;

    buf_init(&digits, number.size);
    for (at += negative; at < end && *at != 'e' && *at != 'E'; at++) {
        exponent -= behind_point && *at != '.';
        if (*at == '.')
            behind_point = true;
        else if (*at != '0' || digits.size > 0)
            buf_putc(&digits, *at);
    }
    if (at < end)
        exponent += read_exponent(at + 1, end);
    size_t size = digits.size;
    while (size > 0 && digits.data[size - 1] == '0') {
        size--;
        exponent++;
    }
    if (!buf_ok(&digits))
        out->failed = true;
    else if (size == 0)
        buf_putc(out, '0');
    else
        buf_printf(out, "%s%.*se%" PRId64, negative ? "-" : "", (int)size, digits.data, exponent);
    buf_free(&digits);
}

static int by_key(const void *a, const void *b)
{
    const struct member *one = a, *other = b;
    size_t common = one->key.size < other->key.size ? one->key.size : other->key.size;
    int order = memcmp(one->key.data, other->key.data, common);

    if (order == 0 && one->key.size != other->key.size)
        order = one->key.size < other->key.size ? -1 : 1;
    if (order == 0)
        order = one->place < other->place ? -1 : 1;
    return order;
}

static bool is_same_key(const struct member *one, const struct member *other)
{
    return one->key.size == other->key.size &&
           memcmp(one->key.data, other->key.data, one->key.size) == 0;
}

static size_t count_members(struct json_view object)
{
    struct json_walk walk = json_view_walk(object);
    struct json_view key, value;
    size_t count = 0;

    while (json_walk_member(&walk, &key, &value))
        count++;
    return count;
}

static void put_object(struct buf *out, struct json_view object)
{
    size_t count = count_members(object);
    struct member *members = calloc(count + 1, sizeof *members);
    struct json_walk walk = json_view_walk(object);
    struct json_view key;

    if (members == NULL) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < count && json_walk_member(&walk, &key, &members[i].value); i++) {
        members[i].place = i;
        buf_init(&members[i].key, key.size);
        json_view_put_string(&members[i].key, key);
        out->failed |= !buf_ok(&members[i].key);
    }
    qsort(members, count, sizeof *members, by_key);
    buf_putc(out, '{');
    for (size_t i = 0; i < count; i++) {
        if (i + 1 == count || !is_same_key(&members[i], &members[i + 1])) {
            put_sized(out, members[i].key.data, members[i].key.size);
            json_view_put_canonical(out, members[i].value);
        }
    }
    buf_putc(out, '}');
    for (size_t i = 0; i < count; i++)
        buf_free(&members[i].key);
    free(members);
}

static void put_array(struct buf *out, struct json_view array)
{
    struct json_walk walk = json_view_walk(array);
    struct json_view element;

    buf_putc(out, '[');
    while (json_walk_element(&walk, &element)) {
        json_view_put_canonical(out, element);
        buf_putc(out, ',');
    }
    buf_putc(out, ']');
}

void json_view_put_canonical(struct buf *out, struct json_view value)
{
    switch (value.text[0]) {
    case '{':
        put_object(out, value);
        return;
    case '[':
        put_array(out, value);
        return;
    case '"':
        put_string(out, value);
        return;
    case 't':
    case 'f':
    case 'n':
        buf_putc(out, value.text[0]);
        return;
    default:
        put_number(out, value);
        return;
    }
}
