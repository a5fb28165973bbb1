/*
 * Maps the module and finds its descriptor.
 *
 * Sealed bytes are opened by the names of their descriptors, for dlopen() knows files only. glibc
 * takes a name that it has seen for the object that it has loaded by it, so no two have one: the
 * descriptors stay open, and the names are of a form that no other code uses.
 *
 * What is mapped then goes by the path of a file with the same bytes (l_name of its link map), so
 * that debuggers, core files, sanitizers and backtraces find its symbols.
 */
#include "runner/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HIGHEST_MAJOR_TRIED = 9, DESCRIPTOR_NAME = 96 };

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

/* The number as /proc has it: a debugger opens the same name. */
static bool name_descriptor(char name[DESCRIPTOR_NAME], int fd, struct error *error)
{
    char self[24];
    ssize_t length = readlink("/proc/self", self, sizeof self - 1);

    if (length <= 0)
        return error_set(error, ERROR_INTERNAL, "/proc/self: %s", strerror(errno));
    self[length] = '\0';
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return error_set(error, ERROR_USAGE,
                         "--sealed: descriptor %d is not open; pgflow-host opens it", fd);
    snprintf(name, DESCRIPTOR_NAME, "/proc/%s/task/%s/fd/%d", self, self, fd);
    return true;
}

/* The loader's own name stays allocated: it is the loader's. */
static void go_by(void *library, const char *path)
{
    /* volatile, for nothing reads it: else the compiler leaves it out, and the names are lost. */
    static char *volatile names_of_loader[1 + RUNNER_LIBRARIES];
    static size_t count;
    struct link_map *map;
    char *name = strdup(path);

    if (name == NULL || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 ||
        count == sizeof names_of_loader / sizeof names_of_loader[0]) {
        free(name);
        return;
    }
    names_of_loader[count++] = map->l_name;
    map->l_name = name;
}

static void *open_library(const char *path, struct error *error)
{
    pid_t before = getpid();
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    /* A child that a constructor forked and let come back: its parent goes on. */
    if (getpid() != before)
        _exit(ERROR_INTERNAL);
    if (library == NULL)
        (void)error_set(error, ERROR_CONFIG, "cannot be loaded: %s", load_error(path));
    return library;
}

/* Part 0 is the module, the others are its libraries. */
static void *open_part(const struct runner_options *options, size_t part, const char *path,
                       struct error *error)
{
    char name[DESCRIPTOR_NAME];
    void *library;

    if (!options->sealed)
        return open_library(path, error);
    if (!name_descriptor(name, RUNNER_FD_PARTS + (int)part, error))
        return NULL;
    library = open_library(name, error);
    if (library != NULL)
        go_by(library, path);
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
        if (open_part(options, i + 1, options->preload[i], error) == NULL) {
            error_wrap(error, "its dependency %s", options->preload[i]);
            return NULL;
        }
    library = open_part(options, 0, options->module, error);
    if (library == NULL)
        return NULL;
    symbol = dlsym(library, symbol_name);
    if (symbol == NULL) {
        refuse_without_symbol(library, error);
        return NULL;
    }
    return descriptor_read(symbol, NULL, error);
}
