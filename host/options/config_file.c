#include "options/option_layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORIGIN_SIZE = 512 };

static char *trimmed(char *text)
{
    char *end = text + strlen(text);

    while (end > text && strchr(" \t\r", end[-1]) != NULL)
        *--end = '\0';
    return text + strspn(text, " \t");
}

/* A '#' opens a comment at the start of a line or after a blank, so that a URL may hold one. */
static void cut_comment(char *line)
{
    for (char *c = line; *c != '\0'; c++)
        if (*c == '#' && (c == line || c[-1] == ' ' || c[-1] == '\t')) {
            *c = '\0';
            return;
        }
}

/* As other formats have them. Here they would be part of the value, which nobody means. */
static bool is_quoted(const char *value)
{
    size_t length = strlen(value);

    return length > 1 && (value[0] == '"' || value[0] == '\'') && value[length - 1] == value[0];
}

static bool refuse_name(const char *place, const char *name, struct error *error)
{
    const struct option_spec *spec = option_find(name);

    if (spec != NULL)
        return error_set(error, ERROR_USAGE, "%s: '%s' cannot stand in a configuration file", place,
                         name);
    const struct option_spec *near = option_nearest(name);
    if (near != NULL && near->place == OPTION_ANYWHERE)
        return error_set(error, ERROR_USAGE, "%s: unknown option '%s'; did you mean '%s'?", place,
                         name, near->name);
    return error_set(error, ERROR_USAGE, "%s: unknown option '%s'; pgflow-host --help lists all",
                     place, name);
}

static bool read_line(struct option_layer *layer, const char *place, char *line,
                      struct error *error)
{
    cut_comment(line);
    line = trimmed(line);
    if (*line == '\0')
        return true;

    char *equals = strchr(line, '=');
    if (equals == NULL)
        return error_set(error, ERROR_USAGE, "%s: expected `name = value`", place);
    *equals = '\0';
    const char *name = trimmed(line), *value = trimmed(equals + 1);
    const struct option_spec *spec = option_find(name);
    if (spec == NULL || spec->place != OPTION_ANYWHERE)
        return refuse_name(place, name, error);

    if (is_quoted(value))
        return error_set(error, ERROR_USAGE,
                         "%s: %s: a value stands without quotes; leave them out", place,
                         spec->name);

    char origin[ORIGIN_SIZE + LIMIT_SLUG];
    snprintf(origin, sizeof origin, "%s: %s", place, spec->name);
    return option_layer_add(layer, spec, origin, value, error);
}

bool option_layer_read_config(struct option_layer *layer, const char *file, const char *text,
                              struct error *error)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF"; /* some editors put it there */
    size_t mark = strncmp(text, byte_order_mark, 3) == 0 ? 3 : 0;
    char *copy = strdup(text + mark), *rest = copy;
    bool read = copy != NULL || error_out_of_memory(error);

    for (int number = 1; read && rest != NULL; number++) {
        char place[ORIGIN_SIZE];
        char *line = strsep(&rest, "\n");

        snprintf(place, sizeof place, "%s:%d", file, number);
        read = read_line(layer, place, line, error);
    }
    free(copy);
    return read;
}
