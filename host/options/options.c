#include "options/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/text_file.h"
#include "observe/listen_address.h"
#include "options/option_layer.h"
#include "options/option_table.h"
#include "options/option_value.h"

/* Highest precedence first. */
enum { LAYER_ARGUMENTS, LAYER_ENVIRONMENT, LAYER_CONFIG, LAYER_COUNT };

static bool read_file(const char *path, struct buf *text, struct error *error)
{
    if (!text_file_read_trusted(path, text, error))
        return error_wrap(error, "--config");
    if (memchr(text->data, '\0', text->size) != NULL)
        return error_set(error, ERROR_USAGE, "--config: '%s' is not a text file", path);
    return true;
}

static const struct option_values *first_given(const struct option_layer *layers,
                                               const struct option_spec *spec)
{
    for (size_t i = 0; i < LAYER_COUNT; i++) {
        const struct option_values *values = option_layer_get(&layers[i], spec);
        if (values->count > 0)
            return values;
    }
    return NULL;
}

static bool read_config(struct option_layer *layers, struct error *error)
{
    const struct option_values *config = first_given(layers, option_find("config"));
    struct buf text;
    if (config == NULL)
        return true;

    buf_init(&text, LIMIT_CONFIG_FILE);
    bool read = read_file(config->items[0], &text, error) &&
                option_layer_read_config(&layers[LAYER_CONFIG], config->items[0], text.data, error);
    buf_free(&text);
    return read;
}

/* --help and --version answer even when the rest is wrong, so they are looked for before anything
 * is read. */
static bool wants_answer_only(struct settings *settings, int argc, char *const argv[])
{
    for (int i = 1; i < argc; i++) {
        settings->help |= strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
        settings->version |= strcmp(argv[i], "--version") == 0;
    }
    return settings->help || settings->version;
}

static bool store_all(struct settings *settings, const struct option_layer *layers,
                      struct error *error)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option_spec *spec = &option_table[i];
        const struct option_values *values = first_given(layers, spec);
        if (values == NULL)
            option_value_default(settings, spec);
        else if (!option_value_store(settings, spec, values, error))
            return false;
    }
    return true;
}

/* An empty DATABASE_URL is none. */
static bool fall_back_to_database_url(struct settings *settings, char *const environment[],
                                      struct error *error)
{
    static const char name[] = "DATABASE_URL=";

    for (size_t i = 0; environment[i] != NULL; i++) {
        const char *value = environment[i] + strlen(name);
        if (strncmp(environment[i], name, strlen(name)) != 0 || *value == '\0')
            continue;
        settings->database = strdup(value);
        return settings->database != NULL || error_out_of_memory(error);
    }
    return true;
}

/* The database and every log line take it as text. */
static bool check_function(const struct settings *settings, struct error *error)
{
    const char *name = settings->function;

    return name == NULL || text_is_printable(name) ||
           error_set(error, ERROR_USAGE,
                     "--function holds control characters, or bytes that are not UTF-8");
}

/* NAME=value would pass nothing, and nobody would notice. */
static bool check_pass_env(const struct settings *settings, struct error *error)
{
    for (size_t i = 0; i < settings->pass_env.count; i++)
        if (strchr(settings->pass_env.items[i], '=') != NULL)
            return error_set(error, ERROR_USAGE,
                             "--pass-env takes the name of a variable only, not its value: "
                             "--pass-env %.*s",
                             (int)strcspn(settings->pass_env.items[i], "="),
                             settings->pass_env.items[i]);
    return true;
}

static bool check_metrics_listen(const struct settings *settings, struct error *error)
{
    struct listen_address address;

    return settings->metrics_listen == NULL ||
           listen_address_parse(settings->metrics_listen, &address, error) ||
           error_wrap(error, "--metrics-listen");
}

/* What no single option can tell. */
static bool complete(struct settings *settings, char *const environment[], struct error *error)
{
    if (settings->plugins.count == 0)
        return error_set(error, ERROR_USAGE,
                         "no module given; name at least one: --plugin ./flow.so");
    if (settings->plugins.count > LIMIT_MODULES)
        return error_set(error, ERROR_USAGE, "--plugin is given %zu times; at most %d modules",
                         settings->plugins.count, LIMIT_MODULES);
    if (settings->once && settings->exit_when_idle > 0)
        return error_set(error, ERROR_USAGE, "--once and --exit-when-idle exclude each other");
    if (!check_function(settings, error) || !check_pass_env(settings, error) ||
        !check_metrics_listen(settings, error))
        return false;
    if (settings->batch_size == 0)
        settings->batch_size = settings->concurrency > LIMIT_BATCH_DEFAULT ? settings->concurrency
                                                                           : LIMIT_BATCH_DEFAULT;
    return settings->database != NULL || fall_back_to_database_url(settings, environment, error);
}

static bool read_layers(struct settings *settings, struct option_layer *layers, int argc,
                        char *const argv[], char *const environment[], struct error *error)
{
    for (size_t i = 0; i < LAYER_COUNT; i++)
        if (!option_layer_init(&layers[i], error))
            return false;
    return option_layer_read_arguments(&layers[LAYER_ARGUMENTS], argc, argv, error) &&
           option_layer_read_environment(&layers[LAYER_ENVIRONMENT], environment, error) &&
           read_config(layers, error) && store_all(settings, layers, error) &&
           complete(settings, environment, error);
}

bool options_read(struct settings *settings, int argc, char *const argv[],
                  char *const environment[], struct error *error)
{
    struct option_layer layers[LAYER_COUNT] = {{NULL}};

    memset(settings, 0, sizeof *settings);
    if (wants_answer_only(settings, argc, argv))
        return true;
    bool read = read_layers(settings, layers, argc, argv, environment, error);
    for (size_t i = 0; i < LAYER_COUNT; i++)
        option_layer_finish(&layers[i]);
    return read;
}
