/* SPDX-License-Identifier: Apache-2.0
 * Machine-readable copyright files, and the choice between the two ways of reading. */
#include "recogniser.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static size_t line_length(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline != NULL ? (size_t)(newline - at) : (size_t)(end - at);
}

/* The value of the field on this line, or NULL. */
static const char *field_value(const char *line, size_t length, const char *field)
{
    size_t n = strlen(field);
    if (length <= n || strncasecmp(line, field, n) != 0 || line[n] != ':')
        return NULL;
    return line + n + 1;
}

/* One of " or ", " and ", "/or ", ",", "|" at this place: its length, else 0. */
static size_t separator_at(const char *at, size_t rest)
{
    static const char *const separators[] = {" or ", " and ", " and/or ", ",", "|", ";"};
    for (size_t i = 0; i < sizeof separators / sizeof separators[0]; i++) {
        size_t n = strlen(separators[i]);
        if (rest >= n && strncasecmp(at, separators[i], n) == 0)
            return n;
    }
    return 0;
}

/* A name ends before " with " and its exception. */
static void add_name(struct license_set *set, const char *name, size_t size)
{
    size_t n = 0;
    while (n < size && (size - n < 6 || strncasecmp(name + n, " with ", 6) != 0))
        n++;
    license_set_add(set, name, n);
}

/* "GPL-2+ or Artistic, and Expat with exception": each name by itself. "or later" is part
 * of a name. */
static void add_expression(struct license_set *set, const char *text, size_t size)
{
    size_t begin = 0;
    for (size_t at = 0; at < size;) {
        size_t n = separator_at(text + at, size - at);
        bool later = size - at >= 9 && strncasecmp(text + at, " or later", 9) == 0;
        if (n == 0 || later) {
            at++;
            continue;
        }
        add_name(set, text + begin, at - begin);
        at += n;
        begin = at;
    }
    add_name(set, text + begin, size - begin);
}

bool recognise_dep5(struct license_set *set, const char *text, size_t size)
{
    const char *end = text + size;
    bool machine_readable = false;
    for (const char *line = text; line < end;) {
        size_t length = line_length(line, end);
        const char *value = field_value(line, length, "Format");
        if (value == NULL)
            value = field_value(line, length, "Format-Specification");
        if (value != NULL && memmem(value, (size_t)(line + length - value), "copyright", 9) != NULL)
            machine_readable = true;
        value = field_value(line, length, "License");
        if (value != NULL && machine_readable)
            add_expression(set, value, (size_t)(line + length - value));
        line += length + (line + length < end);
    }
    return machine_readable;
}

enum recognised_by recognise(struct license_set *set, const char *text, size_t size, bool *failed)
{
    memset(set, 0, sizeof *set);
    *failed = false;
    if (recognise_dep5(set, text, size) && set->count > 0)
        return RECOGNISED_BY_DEP5;
    char *folded = fold_text(text, size);
    if (folded == NULL) {
        *failed = true;
        return RECOGNISED_BY_NOTHING;
    }
    recognise_phrases(set, folded);
    free(folded);
    return set->count > 0 ? RECOGNISED_BY_TEXT : RECOGNISED_BY_NOTHING;
}

const char *recognised_by_name(enum recognised_by by)
{
    static const char *const names[] = {"nothing", "dep5", "text"};
    return names[by];
}
