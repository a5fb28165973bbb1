/* SPDX-License-Identifier: Apache-2.0
 * pgf_json_parse() of pgflow/json.h: reads strictly, builds trees of cJSON. */
#include <pgflow/json.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* cJSON reads numbers through a buffer of 64 bytes; longer ones stay text. */
enum { LONGEST_DOUBLE = 60, SMALL_OBJECT = 16, SMALL_TEXT = 128 };

/* cJSON prints a double with 15 digits when the rest is below a relative epsilon, so larger
 * integers would change though a double holds them. */
static const uint64_t printed_exactly = UINT64_C(999999999999999);

/* The text and how far it was read. The first problem ends the reading. */
struct reader {
    const char *text;
    size_t at, len;
    unsigned depth;
    const char *problem; /* NULL: none yet */
    size_t problem_at;
};

static cJSON *read_value(struct reader *reader);

/* Always NULL. */
static void *refuse(struct reader *reader, size_t at, const char *what)
{
    if (reader->problem == NULL) {
        reader->problem = what;
        reader->problem_at = at;
    }
    return NULL;
}

static void *no_memory(struct reader *reader)
{
    return refuse(reader, reader->at, "out of memory");
}

/* The next byte, 0 at the end: NUL is no part of JSON anyway. */
static char peek(const struct reader *reader)
{
    return reader->at < reader->len ? reader->text[reader->at] : '\0';
}

static void skip_space(struct reader *reader)
{
    while (peek(reader) == ' ' || peek(reader) == '\t' || peek(reader) == '\n' ||
           peek(reader) == '\r')
        reader->at++;
}

static int take(struct reader *reader, char c)
{
    if (peek(reader) != c)
        return 0;
    reader->at++;
    return 1;
}

/* ---- Text ---- */

/* The length of a well-formed UTF-8 sequence, 0 if it is none. */
static size_t utf8_sequence(const char *text, size_t len)
{
    unsigned char first = (unsigned char)text[0];
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;

    if ((first >= 0x80 && first < 0xC2) || first > 0xF4 || size > len)
        return 0;
    if (first == 0xE0)
        low = 0xA0;
    else if (first == 0xED)
        high = 0x9F; /* above: surrogates */
    else if (first == 0xF0)
        low = 0x90;
    else if (first == 0xF4)
        high = 0x8F;
    for (size_t i = 1; i < size; i++) {
        unsigned char next = (unsigned char)text[i];
        if (next < low || next > high)
            return 0;
        low = 0x80;
        high = 0xBF;
    }
    return size;
}

static size_t put_utf8(char *out, unsigned long point)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xC0 | (point >> 6));
        out[1] = (char)(0x80 | (point & 0x3F));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xE0 | (point >> 12));
        out[1] = (char)(0x80 | ((point >> 6) & 0x3F));
        out[2] = (char)(0x80 | (point & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | (point >> 18));
    out[1] = (char)(0x80 | ((point >> 12) & 0x3F));
    out[2] = (char)(0x80 | ((point >> 6) & 0x3F));
    out[3] = (char)(0x80 | (point & 0x3F));
    return 4;
}

/* Four hex digits behind \u; -1: they are none. */
static long read_unit(struct reader *reader)
{
    long unit = 0;

    if (reader->len - reader->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = reader->text[reader->at++];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/* Behind "\u". Bytes written; 0: refused. At most as many as the escape had. */
static size_t read_unicode(struct reader *reader, char *out, size_t began)
{
    long unit = read_unit(reader);
    long low;

    if (unit < 0)
        refuse(reader, began, "\\u without four hex digits");
    else if (unit == 0)
        refuse(reader, began, "\\u0000");
    else if (unit >= 0xDC00 && unit <= 0xDFFF)
        refuse(reader, began, "a surrogate without its pair");
    else if (unit < 0xD800 || unit > 0xDBFF)
        return put_utf8(out, (unsigned long)unit);
    else {
        low = take(reader, '\\') && take(reader, 'u') ? read_unit(reader) : -1;
        if (low >= 0xDC00 && low <= 0xDFFF)
            return put_utf8(out, 0x10000 + (((unsigned long)unit & 0x3FF) << 10 |
                                            ((unsigned long)low & 0x3FF)));
        refuse(reader, began, "a surrogate without its pair");
    }
    return 0;
}

/* Behind a backslash. Bytes written; 0: refused. */
static size_t read_escape(struct reader *reader, char *out)
{
    static const char names[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    size_t began = reader->at - 1;
    char c = peek(reader);
    const char *name = c == '\0' ? NULL : strchr(names, c);

    reader->at++;
    if (c == 'u')
        return read_unicode(reader, out, began);
    if (name == NULL) {
        refuse(reader, began, "an unknown escape");
        return 0;
    }
    *out = meant[name - names];
    return 1;
}

/* One character of a string into `out`; bytes written, 0: refused. */
static size_t read_character(struct reader *reader, char *out)
{
    size_t size;

    if (reader->at >= reader->len) {
        refuse(reader, reader->at, "a string without end");
        return 0;
    }
    if (take(reader, '\\'))
        return read_escape(reader, out);
    if ((unsigned char)peek(reader) < 0x20) {
        refuse(reader, reader->at, "a control character in a string");
        return 0;
    }
    size = utf8_sequence(reader->text + reader->at, reader->len - reader->at);
    if (size == 0) {
        refuse(reader, reader->at, "bytes that are no UTF-8");
        return 0;
    }
    memcpy(out, reader->text + reader->at, size);
    reader->at += size;
    return size;
}

/* Bytes to the closing quote, escapes as they are written: never less than what they mean. */
static size_t longest_text(const struct reader *reader)
{
    size_t at = reader->at;

    while (at < reader->len && reader->text[at] != '"')
        at += reader->text[at] == '\\' ? 2 : 1;
    return (at < reader->len ? at : reader->len) - reader->at;
}

/* At the opening quote. In `small` (SMALL_TEXT bytes) where it fits, else in memory of malloc. */
static char *read_text(struct reader *reader, char *small)
{
    char *text = small;
    size_t size = 0;
    size_t room;

    reader->at++;
    room = longest_text(reader) + 5;
    if (room > SMALL_TEXT)
        text = malloc(room);
    if (text == NULL)
        return no_memory(reader);
    while (!take(reader, '"')) {
        size_t more = read_character(reader, text + size);
        if (more == 0) {
            if (text != small)
                free(text);
            return NULL;
        }
        size += more;
    }
    text[size] = '\0';
    return text;
}

static cJSON *read_string(struct reader *reader)
{
    char small[SMALL_TEXT];
    char *text = read_text(reader, small);
    cJSON *item;

    if (text == NULL)
        return NULL;
    item = cJSON_CreateString(text);
    if (text != small)
        free(text);
    return item != NULL ? item : no_memory(reader);
}

/* ---- Numbers ---- */

static int take_digits(struct reader *reader)
{
    size_t began = reader->at;

    while (peek(reader) >= '0' && peek(reader) <= '9')
        reader->at++;
    return reader->at > began;
}

/* Digits only. 0: no uint64_t holds it. */
static int read_digits(const char *text, size_t len, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < len; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (text[i] < '0' || text[i] > '9' || *value > (UINT64_MAX - digit) / 10)
            return 0;
        *value = *value * 10 + digit;
    }
    return len > 0;
}

/* "1E-400" is 0 as a double, "0.0e5" is 0. */
static int is_lost(const char *text, size_t len, double value)
{
    size_t mantissa = 0;

    for (; mantissa < len && text[mantissa] != 'e' && text[mantissa] != 'E'; mantissa++)
        if (text[mantissa] >= '1' && text[mantissa] <= '9')
            return value == 0;
    return 0;
}

/* A number that was found to be one. */
static cJSON *make_number(struct reader *reader, const char *text, size_t len, int is_integer)
{
    size_t sign = text[0] == '-';
    uint64_t digits = 0;
    cJSON *item = NULL;
    char *copy;

    if (is_integer ? read_digits(text + sign, len - sign, &digits) && digits <= printed_exactly
                   : len <= LONGEST_DOUBLE) {
        item = cJSON_ParseWithLength(text, len);
        if (item == NULL)
            return no_memory(reader);
        if (is_integer || (isfinite(item->valuedouble) && !is_lost(text, len, item->valuedouble)))
            return item;
        cJSON_Delete(item);
    }
    copy = malloc(len + 1);
    if (copy == NULL)
        return no_memory(reader);
    memcpy(copy, text, len);
    copy[len] = '\0';
    item = cJSON_CreateRaw(copy);
    free(copy);
    return item != NULL ? item : no_memory(reader);
}

static cJSON *read_number(struct reader *reader)
{
    size_t began = reader->at;
    int is_integer = 1;

    (void)take(reader, '-');
    if (!take(reader, '0') && !take_digits(reader))
        return refuse(reader, reader->at, "no value");
    if (take(reader, '.')) {
        is_integer = 0;
        if (!take_digits(reader))
            return refuse(reader, reader->at, "a number without digits behind the point");
    }
    if (take(reader, 'e') || take(reader, 'E')) {
        is_integer = 0;
        if (!take(reader, '+'))
            (void)take(reader, '-');
        if (!take_digits(reader))
            return refuse(reader, reader->at, "a number without digits in its exponent");
    }
    return make_number(reader, reader->text + began, reader->at - began, is_integer);
}

/* ---- Arrays and objects ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

/* Is the last member's name taken? For small objects, member by member. */
static int is_taken(const cJSON *object, const char *name)
{
    for (const cJSON *item = object->child; item != NULL; item = item->next)
        if (strcmp(item->string, name) == 0)
            return 1;
    return 0;
}

/* In a large object, sorted. 0: refused. */
static int check_names(struct reader *reader, const cJSON *object, size_t count)
{
    const cJSON **sorted = malloc(count * sizeof *sorted);
    size_t at = 0;
    int twice = 0;

    if (sorted == NULL) {
        no_memory(reader);
        return 0;
    }
    for (const cJSON *item = object->child; item != NULL; item = item->next)
        sorted[at++] = item;
    qsort(sorted, count, sizeof(const cJSON *), by_name);
    for (size_t i = 1; i < count && !twice; i++)
        twice = strcmp(sorted[i - 1]->string, sorted[i]->string) == 0;
    free((void *)sorted);
    if (twice)
        refuse(reader, reader->at, "an object with a key twice");
    return !twice;
}

/* 0: refused. */
static int read_member(struct reader *reader, cJSON *object, size_t count)
{
    char small[SMALL_TEXT];
    size_t began = reader->at;
    char *name = peek(reader) == '"' ? read_text(reader, small) : NULL;
    cJSON *item = NULL;

    skip_space(reader);
    if (name == NULL)
        refuse(reader, began, "no key");
    else if (count < SMALL_OBJECT && is_taken(object, name))
        refuse(reader, began, "a key twice");
    else if (!take(reader, ':'))
        refuse(reader, reader->at, "no colon behind a key");
    else
        item = read_value(reader);
    if (item != NULL && !cJSON_AddItemToObject(object, name, item)) {
        cJSON_Delete(item);
        item = NULL;
        no_memory(reader);
    }
    if (name != small)
        free(name);
    return item != NULL;
}

/* 0: refused. */
static int read_members(struct reader *reader, cJSON *object)
{
    size_t count = 0;

    skip_space(reader);
    if (take(reader, '}'))
        return 1;
    do {
        skip_space(reader);
        if (!read_member(reader, object, count++))
            return 0;
        skip_space(reader);
    } while (take(reader, ','));
    if (!take(reader, '}')) {
        refuse(reader, reader->at, "neither a comma nor the end of an object");
        return 0;
    }
    return count <= SMALL_OBJECT || check_names(reader, object, count);
}

/* 0: refused. */
static int read_elements(struct reader *reader, cJSON *array)
{
    skip_space(reader);
    if (take(reader, ']'))
        return 1;
    do {
        cJSON *item = read_value(reader);
        if (item == NULL)
            return 0;
        (void)cJSON_AddItemToArray(array, item);
        skip_space(reader);
    } while (take(reader, ','));
    if (!take(reader, ']')) {
        refuse(reader, reader->at, "neither a comma nor the end of an array");
        return 0;
    }
    return 1;
}

static cJSON *read_container(struct reader *reader)
{
    int is_object = peek(reader) == '{';
    cJSON *item;

    if (reader->depth == PGF_JSON_DEPTH)
        return refuse(reader, reader->at, "nested too deeply");
    item = is_object ? cJSON_CreateObject() : cJSON_CreateArray();
    if (item == NULL)
        return no_memory(reader);
    reader->at++;
    reader->depth++;
    if (!(is_object ? read_members(reader, item) : read_elements(reader, item))) {
        cJSON_Delete(item);
        return NULL;
    }
    reader->depth--;
    return item;
}

/* ---- Values ---- */

static cJSON *read_literal(struct reader *reader)
{
    static const char *const words[] = {"null", "true", "false"};
    cJSON *item = NULL;

    for (int i = 0; i < 3; i++) {
        size_t size = strlen(words[i]);
        if (reader->len - reader->at < size ||
            memcmp(reader->text + reader->at, words[i], size) != 0)
            continue;
        reader->at += size;
        item = i == 0 ? cJSON_CreateNull() : cJSON_CreateBool(i == 1);
        return item != NULL ? item : no_memory(reader);
    }
    return refuse(reader, reader->at, "no value");
}

static cJSON *read_value(struct reader *reader)
{
    char c;

    skip_space(reader);
    c = peek(reader);
    if (c == '{' || c == '[')
        return read_container(reader);
    if (c == '"')
        return read_string(reader);
    if (c == '-' || (c >= '0' && c <= '9'))
        return read_number(reader);
    return read_literal(reader);
}

cJSON *pgf_json_parse(const char *text, size_t len, pgf_json_problem *problem)
{
    struct reader reader = {text, 0, len, 0, NULL, 0};
    cJSON *item = read_value(&reader);

    skip_space(&reader);
    if (item != NULL && reader.at < len) {
        cJSON_Delete(item);
        item = refuse(&reader, reader.at, "more than one value");
    }
    if (problem != NULL) {
        problem->what = reader.problem;
        problem->offset = reader.problem_at;
    }
    return item;
}
