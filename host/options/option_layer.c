#include "options/option_layer.h"

#include "base/secrets.h"

#include <stdlib.h>
#include <string.h>

bool option_layer_init(struct option_layer *layer, struct error *error)
{
    layer->values = calloc(option_count, sizeof *layer->values);
    return layer->values != NULL || error_out_of_memory(error);
}

void option_layer_finish(struct option_layer *layer)
{
    if (layer->values == NULL)
        return;
    for (size_t i = 0; i < option_count; i++) {
        struct option_values *values = &layer->values[i];
        for (size_t j = 0; j < values->count; j++)
            free(values->items[j]);
        free(values->items);
        free(values->origin);
    }
    free(layer->values);
    layer->values = NULL;
}

bool option_layer_add(struct option_layer *layer, const struct option_spec *spec,
                      const char *origin, const char *value, struct error *error)
{
    struct option_values *values = &layer->values[option_index(spec)];

    /* Names are registered, logged and shown; folders are made. */
    if (strcmp(spec->name, "database") != 0 && secrets_look(value))
        return error_set(error, ERROR_USAGE,
                         "%s: a database URL or a password, not shown, does not belong here; a URL "
                         "goes with --database",
                         origin);
    if (values->count > 0 && spec->kind != OPTION_LIST)
        return error_set(error, ERROR_USAGE, "%s is given twice; give it once", origin);
    if (values->origin == NULL && (values->origin = strdup(origin)) == NULL)
        return error_out_of_memory(error);

    char **items = realloc(values->items, (values->count + 1) * sizeof *items);
    if (items == NULL)
        return error_out_of_memory(error);
    values->items = items;
    items[values->count] = strdup(value);
    if (items[values->count] == NULL)
        return error_out_of_memory(error);
    values->count++;
    return true;
}
