#include "options/option_layer.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* The names of all options are shorter than this. */
enum { NAME_SIZE = 64 };

static bool refuse_unknown(const char *argument, const char *name, struct error *error)
{
    const struct option_spec *near = option_nearest(name);

    if (near != NULL)
        return error_set(error, ERROR_USAGE, "unknown option %s; did you mean --%s?", argument,
                         near->name);
    return error_set(error, ERROR_USAGE, "unknown option %s; --help lists all", argument);
}

/* Splits "--name=value": the name goes to `name`, the value (or NULL) is returned. */
static const char *split_argument(const char *argument, char name[NAME_SIZE])
{
    const char *start = argument + 2;
    const char *equals = strchr(start, '=');
    size_t length = equals == NULL ? strlen(start) : (size_t)(equals - start);

    snprintf(name, NAME_SIZE, "%.*s", (int)(length < NAME_SIZE ? length : NAME_SIZE), start);
    return equals == NULL ? NULL : equals + 1;
}

static bool refuse_argument(const char *argument, struct error *error)
{
    if (argument[0] == '-' && argument[1] != '\0')
        return error_set(error, ERROR_USAGE,
                         "unknown option %s; options are written out, as in --queue; --help lists "
                         "all",
                         text_shown(argument));
    return error_set(error, ERROR_USAGE,
                     "unexpected argument '%s'; a module is given as --plugin FILE",
                     text_shown(argument));
}

bool option_layer_read_arguments(struct option_layer *layer, int argc, char *const argv[],
                                 struct error *error)
{
    for (int i = 1; i < argc; i++) {
        char name[NAME_SIZE], origin[NAME_SIZE + 2];
        const char *argument = strcmp(argv[i], "-h") == 0 ? "--help" : argv[i];

        if (strncmp(argument, "--", 2) != 0 || argument[2] == '\0')
            return refuse_argument(argument, error);
        const char *value = split_argument(argument, name);
        const struct option_spec *spec = option_find(name);
        snprintf(origin, sizeof origin, "--%s", name);
        if (spec == NULL)
            return refuse_unknown(origin, name, error);
        if (value == NULL && spec->kind == OPTION_SWITCH)
            value = "true";
        else if (value == NULL && i + 1 == argc)
            return error_set(error, ERROR_USAGE, "%s needs a value: %s %s", origin, origin,
                             spec->value_name);
        else if (value == NULL)
            value = argv[++i];
        if (!option_layer_add(layer, spec, origin, value, error))
            return false;
    }
    return true;
}
