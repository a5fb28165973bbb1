/*
 * Command line, environment and configuration file: whatever is accepted lies in
 * the ranges of the table; what is refused says why, and never shows the
 * database's password; after the wipe nobody sees it.
 *
 * The input is a list of texts, each with a NUL behind it. The first byte of a
 * text tells where it goes: 'a' argument, 'e' environment, 'd' argument pair
 * --database with a planted password, 'D' the same in the environment, anything
 * else a line of the configuration file.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "options/option_table.h"
#include "options/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 40 };

#define PASSWORD "S3CR3T-S3CR3T"
#define URL "postgres://u:" PASSWORD "@h/d"

struct given {
    char *argv[2 * MOST + 2], *environment[MOST + 1];
    int argc;
    size_t environment_count;
    struct buf config;
};

static char *copy(const char *text)
{
    char *out = strdup(text);
    FUZZ_CHECK(out != NULL);
    return out;
}

static char *join(const char *before, const char *after)
{
    char *out = NULL;
    FUZZ_CHECK(asprintf(&out, "%s%s", before, after) >= 0);
    return out;
}

/* No file of this machine is read: the only one is ours. */
static bool names_config(const char *text)
{
    return strstr(text, "config") != NULL || strstr(text, "CONFIG") != NULL;
}

static void add(struct given *given, const char *text)
{
    if (given->argc + 2 > 2 * MOST || given->environment_count == MOST || names_config(text))
        return;
    switch (text[0]) {
    case 'a':
        given->argv[given->argc++] = copy(text + 1);
        break;
    case 'd':
        given->argv[given->argc++] = copy("--database");
        given->argv[given->argc++] = copy(URL);
        break;
    case 'e':
        given->environment[given->environment_count++] = join("PGFLOW_", text + 1);
        break;
    case 'D':
        given->environment[given->environment_count++] = copy("PGFLOW_DATABASE=" URL);
        break;
    default:
        buf_puts(&given->config, text);
        buf_putc(&given->config, '\n');
    }
}

static void take(struct given *given, struct fuzz_input *input)
{
    *given = (struct given){.argc = 0};
    buf_init(&given->config, 1 << 16);
    given->argv[given->argc++] = copy("pgflow-host");
    while (input->size > 0)
        add(given, fuzz_text(input, 2000));
    if (given->config.size > 0)
        given->argv[given->argc++] =
            join("--config=", fuzz_file(given->config.data, given->config.size));
}

static void drop(struct given *given)
{
    for (int i = 0; i < given->argc; i++)
        free(given->argv[i]);
    for (size_t i = 0; i < given->environment_count; i++)
        free(given->environment[i]);
    buf_free(&given->config);
}

static void check_ranges(const struct settings *settings)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option_spec *spec = &option_table[i];
        int value;
        if (spec->kind != OPTION_NUMBER)
            continue;
        memcpy(&value, (const char *)settings + spec->offset, sizeof value);
        FUZZ_CHECK((value >= spec->min && value <= spec->max) || value == spec->fallback ||
                   strcmp(spec->name, "batch-size") == 0);
    }
    FUZZ_CHECK(settings->batch_size >= 1 && settings->plugins.count >= 1);
    FUZZ_CHECK(settings->plugins.count <= LIMIT_MODULES);
}

/* A planted URL stays one argument, unless it is another option's value. */
static void check_wiped(const struct given *given)
{
    for (int i = 1; i < given->argc; i++)
        FUZZ_CHECK(strcmp(given->argv[i], URL) != 0);
    for (size_t i = 0; i < given->environment_count; i++)
        FUZZ_CHECK(strcmp(given->environment[i], "PGFLOW_DATABASE=" URL) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct error error = {0};
    struct settings settings;
    struct given given;

    if (memmem(data, size, "S3CR3T", 6) != NULL)
        return -1;
    take(&given, &input);
    if (!options_read(&settings, given.argc, given.argv, given.environment, &error)) {
        FUZZ_CHECK(error.code == ERROR_USAGE && error.text[0] != '\0');
        FUZZ_CHECK(strstr(error.text, PASSWORD) == NULL);
    } else if (!settings.help && !settings.version) {
        check_ranges(&settings);
    }
    settings_finish(&settings);
    options_wipe_secrets(given.argc, given.argv, given.environment);
    check_wiped(&given);
    drop(&given);
    fuzz_free_all();
    return 0;
}
