/*
 * One place that options come from: the raw values that it gives for each option, with the words
 * that an error message uses for that place. Layers are merged by options.c.
 */
#ifndef PGFLOW_OPTIONS_OPTION_LAYER_H
#define PGFLOW_OPTIONS_OPTION_LAYER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "options/option_table.h"

struct option_values {
    char **items;
    size_t count;
    char *origin; /* "--queue", "PGFLOW_QUEUE", "host.conf:3: queue" */
};

struct option_layer {
    struct option_values *values; /* one per row of option_table */
};

bool option_layer_init(struct option_layer *layer, struct error *error) MUST_CHECK;
void option_layer_finish(struct option_layer *layer);

/* Adds a value (copied). A second one for an option that is no list is an error. */
bool option_layer_add(struct option_layer *layer, const struct option_spec *spec,
                      const char *origin, const char *value, struct error *error) MUST_CHECK;

static inline const struct option_values *option_layer_get(const struct option_layer *layer,
                                                           const struct option_spec *spec)
{
    return &layer->values[option_index(spec)];
}

/*
 * The three readers. argv[0] is skipped. `environment` is a NULL-terminated list of NAME=value;
 * only PGFLOW_ names are looked at. The text of a file is given, its name is for messages.
 */
bool option_layer_read_arguments(struct option_layer *layer, int argc, char *const argv[],
                                 struct error *error) MUST_CHECK;
bool option_layer_read_environment(struct option_layer *layer, char *const environment[],
                                   struct error *error) MUST_CHECK;
bool option_layer_read_config(struct option_layer *layer, const char *file, const char *text,
                              struct error *error) MUST_CHECK;

#endif
