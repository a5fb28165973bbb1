/*
 * The JSON judge: a state machine, one byte at a time, with a fast path for
 * plain text inside strings (most bytes of most payloads).
 */
#include "base/json_check.h"

#include <string.h>

enum state {
    WANT_VALUE,        /* at the top, after ':' and after ',' in an array */
    WANT_VALUE_OR_END, /* after '[' */
    WANT_KEY_OR_END,   /* after '{' */
    WANT_KEY,          /* after ',' in an object */
    WANT_COLON,
    AFTER_VALUE, /* ',' or the end of what is open; blanks only at the top */
    IN_STRING,
    IN_ESCAPE,       /* after '\' */
    IN_UNICODE,      /* in the digits of \uXXXX */
    WANT_LOW_ESCAPE, /* after \uD8xx: a '\' */
    WANT_LOW_U,      /* after that: a 'u' */
    IN_UTF8,
    IN_LITERAL,
    NUMBER_MINUS,
    NUMBER_ZERO,
    NUMBER_INTEGER,
    NUMBER_POINT, /* after '.', a digit must follow */
    NUMBER_FRACTION,
    NUMBER_E, /* after 'e' */
    NUMBER_SIGN,
    NUMBER_EXPONENT,
    BROKEN,
};

void json_check_init(struct json_check *check, uint32_t max_depth)
{
    *check = (struct json_check){
        .max_depth = max_depth < LIMIT_JSON_DEPTH ? max_depth : LIMIT_JSON_DEPTH,
        .state = WANT_VALUE,
    };
}

static bool broken(struct json_check *check, const char *problem)
{
    check->state = BROKEN;
    check->problem = problem;
    return false;
}

static bool go(struct json_check *check, enum state state)
{
    check->state = (uint8_t)state;
    return true;
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool top_is_object(const struct json_check *check)
{
    uint32_t level = check->depth - 1;
    return (check->in_object[level / 8] >> (level % 8)) & 1;
}

static bool open_level(struct json_check *check, bool object)
{
    if (check->depth == check->max_depth)
        return broken(check, "nested too deeply");
    uint32_t level = check->depth++;
    uint8_t bit = (uint8_t)(1u << (level % 8));
    if (object)
        check->in_object[level / 8] |= bit;
    else
        check->in_object[level / 8] &= (uint8_t)~bit;
    return go(check, object ? WANT_KEY_OR_END : WANT_VALUE_OR_END);
}

static bool close_level(struct json_check *check)
{
    check->depth--;
    return go(check, AFTER_VALUE);
}

static bool start_string(struct json_check *check, bool is_key)
{
    check->is_key = is_key;
    return go(check, IN_STRING);
}

static bool start_literal(struct json_check *check, const char *rest)
{
    check->literal = rest;
    return go(check, IN_LITERAL);
}

static bool start_value(struct json_check *check, uint8_t c)
{
    switch (c) {
    case '{':
        return open_level(check, true);
    case '[':
        return open_level(check, false);
    case '"':
        return start_string(check, false);
    case '-':
        return go(check, NUMBER_MINUS);
    case '0':
        return go(check, NUMBER_ZERO);
    case 't':
        return start_literal(check, "rue");
    case 'f':
        return start_literal(check, "alse");
    case 'n':
        return start_literal(check, "ull");
    default:
        if (is_digit(c))
            return go(check, NUMBER_INTEGER);
        return broken(check, "a value is expected");
    }
}

static bool after_value(struct json_check *check, uint8_t c)
{
    if (check->depth == 0)
        return broken(check, "something follows the value");
    bool object = top_is_object(check);
    if (c == ',')
        return go(check, object ? WANT_KEY : WANT_VALUE);
    if (c == (object ? '}' : ']'))
        return close_level(check);
    return broken(check, object ? "',' or '}' is expected" : "',' or ']' is expected");
}

/* The states between tokens, where blanks may stand. */
static bool between(struct json_check *check, uint8_t c)
{
    if (is_blank(c))
        return true;
    switch ((enum state)check->state) {
    case WANT_VALUE_OR_END:
        return c == ']' ? close_level(check) : start_value(check, c);
    case WANT_KEY_OR_END:
        if (c == '}')
            return close_level(check);
        return c == '"' ? start_string(check, true) : broken(check, "a key or '}' is expected");
    case WANT_KEY:
        return c == '"' ? start_string(check, true) : broken(check, "a key is expected");
    case WANT_COLON:
        return c == ':' ? go(check, WANT_VALUE) : broken(check, "':' is expected");
    case AFTER_VALUE:
        return after_value(check, c);
    default:
        return start_value(check, c);
    }
}

/* The first byte of a sequence of two to four: what may follow it. */
static bool start_utf8(struct json_check *check, uint8_t c)
{
    check->low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    check->high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (c >= 0xc2 && c <= 0xdf)
        check->pending = 1;
    else if (c >= 0xe0 && c <= 0xef)
        check->pending = 2;
    else if (c >= 0xf0 && c <= 0xf4)
        check->pending = 3;
    else
        return broken(check, "invalid UTF-8");
    return go(check, IN_UTF8);
}

static bool in_utf8(struct json_check *check, uint8_t c)
{
    if (c < check->low || c > check->high)
        return broken(check, "invalid UTF-8");
    check->low = 0x80;
    check->high = 0xbf;
    return --check->pending ? true : go(check, IN_STRING);
}

static bool in_string(struct json_check *check, uint8_t c)
{
    if (c == '"')
        return go(check, check->is_key ? WANT_COLON : AFTER_VALUE);
    if (c == '\\')
        return go(check, IN_ESCAPE);
    if (c == 0)
        return broken(check, "a NUL byte");
    if (c < 0x20)
        return broken(check, "a control character in a string");
    return c < 0x80 ? true : start_utf8(check, c);
}

static bool in_escape(struct json_check *check, uint8_t c)
{
    if (c == 'u') {
        check->pending = 4;
        check->unit = 0;
        return go(check, IN_UNICODE);
    }
    if (c == 0 || strchr("\"\\/bfnrt", c) == NULL)
        return broken(check, "an unknown escape");
    return go(check, IN_STRING);
}

static bool end_unicode(struct json_check *check)
{
    bool high = check->unit >= 0xd800 && check->unit <= 0xdbff;
    bool low = check->unit >= 0xdc00 && check->unit <= 0xdfff;
    if (check->after_high_surrogate ? !low : low)
        return broken(check, "a lone surrogate");
    if (check->unit == 0)
        return broken(check, "\\u0000, which PostgreSQL cannot store");
    check->after_high_surrogate = high;
    return go(check, high ? WANT_LOW_ESCAPE : IN_STRING);
}

static bool in_unicode(struct json_check *check, uint8_t c)
{
    uint16_t digit = 0;
    if (is_digit(c))
        digit = (uint16_t)(c - '0');
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        digit = (uint16_t)((c | 0x20) - 'a' + 10);
    else
        return broken(check, "four hexadecimal digits are expected");
    check->unit = (uint16_t)(check->unit << 4 | digit);
    return --check->pending ? true : end_unicode(check);
}

static bool in_literal(struct json_check *check, uint8_t c)
{
    if (c != (uint8_t)*check->literal)
        return broken(check, "a value is expected");
    return *++check->literal ? true : go(check, AFTER_VALUE);
}

static bool number_must_have_digit(struct json_check *check, uint8_t c, enum state next)
{
    return is_digit(c) ? go(check, next) : broken(check, "a digit is expected");
}

static bool in_number(struct json_check *check, uint8_t c)
{
    switch ((enum state)check->state) {
    case NUMBER_MINUS:
        return c == '0' ? go(check, NUMBER_ZERO) : number_must_have_digit(check, c, NUMBER_INTEGER);
    case NUMBER_POINT:
        return number_must_have_digit(check, c, NUMBER_FRACTION);
    case NUMBER_E:
        if (c == '+' || c == '-')
            return go(check, NUMBER_SIGN);
        return number_must_have_digit(check, c, NUMBER_EXPONENT);
    case NUMBER_SIGN:
        return number_must_have_digit(check, c, NUMBER_EXPONENT);
    default:
        break;
    }
    if (is_digit(c))
        return check->state != NUMBER_ZERO ? true : broken(check, "a number with a leading zero");
    if (c == '.' && (check->state == NUMBER_ZERO || check->state == NUMBER_INTEGER))
        return go(check, NUMBER_POINT);
    if ((c | 0x20) == 'e' && check->state != NUMBER_EXPONENT)
        return go(check, NUMBER_E);
    check->state = AFTER_VALUE;
    return between(check, c);
}

static bool step(struct json_check *check, uint8_t c)
{
    switch ((enum state)check->state) {
    case IN_STRING:
        return in_string(check, c);
    case IN_UTF8:
        return in_utf8(check, c);
    case IN_ESCAPE:
        return in_escape(check, c);
    case IN_UNICODE:
        return in_unicode(check, c);
    case WANT_LOW_ESCAPE:
        return c == '\\' ? go(check, WANT_LOW_U) : broken(check, "a lone surrogate");
    case WANT_LOW_U:
        check->pending = 4;
        check->unit = 0;
        return c == 'u' ? go(check, IN_UNICODE) : broken(check, "a lone surrogate");
    case IN_LITERAL:
        return in_literal(check, c);
    case BROKEN:
        return false;
    default:
        return check->state >= NUMBER_MINUS ? in_number(check, c) : between(check, c);
    }
}

/* Bytes of a string that need no look: printable ASCII but `"` and `\`. */
static size_t plain_run(const uint8_t *text, size_t size)
{
    size_t at = 0;
    while (at < size && text[at] >= 0x20 && text[at] < 0x80 && text[at] != '"' && text[at] != '\\')
        at++;
    return at;
}

bool json_check_feed(struct json_check *check, const char *text, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)text;
    for (size_t at = 0; at < size;) {
        if (check->state == IN_STRING) {
            size_t run = plain_run(bytes + at, size - at);
            at += run;
            check->offset += run;
            if (at == size)
                break;
        }
        if (!step(check, bytes[at]))
            return false;
        at++;
        check->offset++;
    }
    return check->state != BROKEN;
}

bool json_check_end(struct json_check *check)
{
    switch ((enum state)check->state) {
    case BROKEN:
        return false;
    case NUMBER_ZERO:
    case NUMBER_INTEGER:
    case NUMBER_FRACTION:
    case NUMBER_EXPONENT:
    case AFTER_VALUE:
        if (check->depth == 0)
            return true;
        break;
    default:
        break;
    }
    return broken(check, check->offset == 0 ? "it is empty" : "it ends too early");
}

bool json_check_text(const char *text, size_t size, struct error *error)
{
    struct json_check check;
    json_check_init(&check, LIMIT_JSON_DEPTH);
    if (json_check_feed(&check, text, size) && json_check_end(&check))
        return true;
    return error_set(error, ERROR_USAGE, "not JSON: %s at byte %llu", check.problem,
                     (unsigned long long)check.offset);
}
