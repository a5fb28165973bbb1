#include "options/option_value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

static void *field_of(struct settings *settings, const struct option_spec *spec)
{
    return (char *)settings + spec->offset;
}

static bool store_text(char **field, const struct option_values *values, struct error *error)
{
    if (values->items[0][0] == '\0')
        return error_set(error, ERROR_USAGE, "%s is empty; give a value or leave it out",
                         values->origin);
    *field = strdup(values->items[0]);
    return *field != NULL || error_out_of_memory(error);
}

static bool store_list(struct settings_list *list, const struct option_values *values,
                       struct error *error)
{
    list->items = calloc(values->count + 1, sizeof *list->items);
    if (list->items == NULL)
        return error_out_of_memory(error);
    for (size_t i = 0; i < values->count; i++) {
        if (values->items[i][0] == '\0')
            return error_set(error, ERROR_USAGE, "%s is empty; give a value or leave it out",
                             values->origin);
        list->items[i] = strdup(values->items[i]);
        if (list->items[i] == NULL)
            return error_out_of_memory(error);
        list->count++;
    }
    return true;
}

static bool store_number(int *field, const struct option_spec *spec,
                         const struct option_values *values, struct error *error)
{
    const char *text = values->items[0];
    char *end = NULL;

    errno = 0;
    long number = strtol(text, &end, 10);
    /* strtol would skip blanks and take a plus sign. */
    bool digits = *text == '-' || (*text >= '0' && *text <= '9');
    if (!digits || *end != '\0')
        return error_set(error, ERROR_USAGE, "%s: '%s' is no whole number; give %d to %d",
                         values->origin, text_shown(text), spec->min, spec->max);
    if (errno == ERANGE || number < spec->min || number > spec->max)
        return error_set(error, ERROR_USAGE, "%s: %s is out of range; give %d to %d",
                         values->origin, text, spec->min, spec->max);
    *field = (int)number;
    return true;
}

static bool store_switch(bool *field, const struct option_values *values, struct error *error)
{
    const char *text = values->items[0];
    bool on = strcmp(text, "1") == 0 || strcmp(text, "true") == 0;

    if (!on && strcmp(text, "0") != 0 && strcmp(text, "false") != 0)
        return error_set(error, ERROR_USAGE,
                         "%s: '%s' is neither on nor off; give 1, 0, true or false", values->origin,
                         text_shown(text));
    *field = on;
    return true;
}

static bool store_choice(int *field, const struct option_spec *spec,
                         const struct option_values *values, struct error *error)
{
    struct buf words;

    buf_init(&words, 256);
    for (int i = 0; spec->choices[i] != NULL; i++) {
        if (strcmp(spec->choices[i], values->items[0]) == 0) {
            *field = i;
            buf_free(&words);
            return true;
        }
        buf_printf(&words, "%s%s",
                   i == 0                         ? ""
                   : spec->choices[i + 1] == NULL ? " or "
                                                  : ", ",
                   spec->choices[i]);
    }
    (void)error_set(error, ERROR_USAGE, "%s: '%s' is unknown; give %s", values->origin,
                    text_shown(values->items[0]), words.data);
    buf_free(&words);
    return false;
}

bool option_value_store(struct settings *settings, const struct option_spec *spec,
                        const struct option_values *values, struct error *error)
{
    void *field = field_of(settings, spec);

    switch (spec->kind) {
    case OPTION_TEXT:
        return store_text(field, values, error);
    case OPTION_LIST:
        return store_list(field, values, error);
    case OPTION_NUMBER:
        return store_number(field, spec, values, error);
    case OPTION_SWITCH:
        return store_switch(field, values, error);
    case OPTION_CHOICE:
        return store_choice(field, spec, values, error);
    }
    return error_set(error, ERROR_INTERNAL, "%s has no kind", spec->name);
}

void option_value_default(struct settings *settings, const struct option_spec *spec)
{
    if (spec->kind == OPTION_NUMBER || spec->kind == OPTION_CHOICE)
        *(int *)field_of(settings, spec) = spec->fallback;
}
