/*
 * Maps the module and finds its descriptor.
 */
#include "runner/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HIGHEST_MAJOR_TRIED = 9 };

static const char symbol_name[] = "pgflow_module_v1";

/* dlerror() without the path of the copy in front, which tells the user nothing. */
static const char *load_error(const char *path)
{
    const char *text = dlerror();
    size_t length = strlen(path);

    if (text == NULL)
        return "unknown error of the dynamic loader";
    if (strncmp(text, path, length) == 0 && strncmp(text + length, ": ", 2) == 0)
        return text + length + 2;
    return text;
}

static void *open_library(const char *path, struct error *error)
{
    pid_t before = getpid();
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    /* A child that a constructor forked and let come back: its parent goes on. */
    if (getpid() != before)
        _exit(ERROR_INTERNAL);
    if (library == NULL)
        error_set(error, ERROR_CONFIG, "cannot be loaded: %s", load_error(path));
    return library;
}

/* A module of another major version exports another symbol; say so if it does. */
static bool refuse_without_symbol(void *library, struct error *error)
{
    char name[32];

    for (int major = 0; major <= HIGHEST_MAJOR_TRIED; major++) {
        snprintf(name, sizeof name, "pgflow_module_v%d", major);
        if (dlsym(library, name) != NULL)
            return error_set(error, ERROR_CONFIG,
                             "was built for module ABI %d, this host supports %d: rebuild it with "
                             "the SDK of this host",
                             major, (int)PGF_ABI_MAJOR);
    }
    return error_set(error, ERROR_CONFIG,
                     "has no symbol %s: it is no flow module, or the symbol is hidden (define it "
                     "with PGF_EXPORT)",
                     symbol_name);
}

struct descriptor *module_load(const struct runner_options *options, struct error *error)
{
    const void *symbol;
    void *library;

    for (size_t i = 0; i < options->preload_count; i++)
        if (open_library(options->preload[i], error) == NULL) {
            error_wrap(error, "its dependency %s", options->preload[i]);
            return NULL;
        }
    library = open_library(options->module, error);
    if (library == NULL)
        return NULL;
    symbol = dlsym(library, symbol_name);
    if (symbol == NULL) {
        refuse_without_symbol(library, error);
        return NULL;
    }
    return descriptor_read(symbol, NULL, error);
}
