/*
 * Turns raw option text into a field of struct settings, with the range and the words of its row in
 * option_table.
 */
#ifndef PGFLOW_OPTIONS_OPTION_VALUE_H
#define PGFLOW_OPTIONS_OPTION_VALUE_H

#include <stdbool.h>

#include "base/error.h"
#include "options/option_layer.h"
#include "options/option_table.h"
#include "options/settings.h"

/* The field must not have been stored before. Strings are copied. */
bool option_value_store(struct settings *settings, const struct option_spec *spec,
                        const struct option_values *values, struct error *error) MUST_CHECK;
void option_value_default(struct settings *settings, const struct option_spec *spec);

#endif
