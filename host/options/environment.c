#include "options/option_layer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer than any PGFLOW_ name that is an option; what does not fit is none. */
enum { NAME_SIZE = 64 };

#define PREFIX "PGFLOW_"

static void option_name_of(const char *variable, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, "%s", variable + strlen(PREFIX));
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
}

/* Only the exact upper-case name counts: a second spelling would be a second value. */
static const struct option_spec *find_option(const char *variable)
{
    char name[NAME_SIZE], exact[NAME_SIZE + sizeof PREFIX];

    option_name_of(variable, name);
    const struct option_spec *spec = option_find(name);
    if (spec == NULL || spec->place == OPTION_ON_COMMAND_LINE)
        return NULL;
    option_environment_name(spec, exact, sizeof exact);
    return strcmp(exact, variable) == 0 ? spec : NULL;
}

static bool refuse_unknown(const char *variable, struct error *error)
{
    char name[NAME_SIZE], near_name[NAME_SIZE + sizeof PREFIX];

    option_name_of(variable, name);
    const struct option_spec *near = option_nearest(name);
    if (near == NULL || near->place == OPTION_ON_COMMAND_LINE)
        return error_set(error, ERROR_USAGE,
                         "%s in the environment is no option of pgflow-host; unset it", variable);
    option_environment_name(near, near_name, sizeof near_name);
    return error_set(error, ERROR_USAGE,
                     "%s in the environment is no option of pgflow-host; did you mean %s?",
                     variable, near_name);
}

/* Lists are split at ':', as PATH is; empty parts are dropped. */
static bool add_list(struct option_layer *layer, const struct option_spec *spec,
                     const char *variable, char *value, struct error *error)
{
    char *rest = NULL;

    for (char *part = strtok_r(value, ":", &rest); part != NULL; part = strtok_r(NULL, ":", &rest))
        if (!option_layer_add(layer, spec, variable, part, error))
            return false;
    return true;
}

static bool add_variable(struct option_layer *layer, const char *variable, char *value,
                         struct error *error)
{
    const struct option_spec *spec = find_option(variable);

    if (spec == NULL)
        return refuse_unknown(variable, error);
    if (spec->kind == OPTION_LIST)
        return add_list(layer, spec, variable, value, error);
    return option_layer_add(layer, spec, variable, value, error);
}

bool option_layer_read_environment(struct option_layer *layer, char *const environment[],
                                   struct error *error)
{
    for (size_t i = 0; environment[i] != NULL; i++) {
        if (strncmp(environment[i], PREFIX, strlen(PREFIX)) != 0)
            continue;
        char *variable = strdup(environment[i]);
        if (variable == NULL)
            return error_out_of_memory(error);
        char *equals = strchr(variable, '=');
        bool added = true;
        if (equals != NULL) {
            *equals = '\0';
            added = add_variable(layer, variable, equals + 1, error);
        }
        free(variable);
        if (!added)
            return false;
    }
    return true;
}
