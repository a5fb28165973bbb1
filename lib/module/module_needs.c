/*
 * $ORIGIN libraries; see module_needs.h.
 *
 * A copy keeps the place that the run path gives it below the module's folder.
 * One that lies outside ($ORIGIN/../lib) goes beside the module; runners load
 * all of them by path before the module, and the loader knows them by their
 * SONAME then.
 */
#include "module/module_needs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};

/* A library whose needs are being read; libraries may need each other in a circle. */
struct visit {
    const char *place;
    const struct visit *outer;
};

struct search {
    struct module_needs *needs;
    const char *root; /* folder of the module, with a slash */
    bool check_owner;
    struct error *error;
};

static const char *behind_origin(const char *entry, size_t size)
{
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
        size_t length = strlen(origins[i]);

        if (size >= length && strncmp(entry, origins[i], length) == 0)
            return entry + length;
    }
    return NULL;
}

/* Length of the folder part of a path, with its slash. */
static size_t folder_size(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* `<folder of origin><rest of the entry>/<name>`, if that file exists. */
static bool try_entry(const char *origin, const char *entry, size_t size, const char *name,
                      char path[PATH_MAX])
{
    const char *rest = behind_origin(entry, size);
    char *absolute;

    if (rest == NULL || snprintf(path, PATH_MAX, "%.*s%.*s/%s", (int)folder_size(origin), origin,
                                 (int)(size - (size_t)(rest - entry)), rest, name) >= PATH_MAX)
        return false;
    absolute = realpath(path, NULL);
    if (absolute == NULL)
        return false;
    free(absolute);
    return true;
}

static bool find_library(const char *origin, const char *run_path, const char *name,
                         char path[PATH_MAX])
{
    while (run_path != NULL && *run_path != '\0') {
        size_t size = strcspn(run_path, ":");

        if (try_entry(origin, run_path, size, name, path))
            return true;
        run_path += size;
        run_path += *run_path == ':';
    }
    return false;
}

/* The place of its copy. By name, not by real path: the loader looks for the
 * name, and several may be links to one file. */
static char *place_of(const struct search *search, const char *path, const char *name)
{
    size_t root = strlen(search->root);
    char folder[PATH_MAX];
    char *real;
    char *place = NULL;

    snprintf(folder, sizeof folder, "%.*s", (int)folder_size(path), path);
    real = realpath(folder, NULL);
    if (real != NULL && strncmp(real, search->root, root) == 0) {
        if (asprintf(&place, "%s/%s", real + root, name) < 0)
            place = NULL;
    } else {
        place = strdup(name);
    }
    free(real);
    return place;
}

static bool is_known(const struct module_needs *needs, const struct visit *visit, const char *place)
{
    for (size_t i = 0; i < needs->count; i++)
        if (strcmp(needs->items[i].name, place) == 0)
            return true;
    for (; visit != NULL; visit = visit->outer)
        if (strcmp(visit->place, place) == 0)
            return true;
    return false;
}

static bool read_needs_of(struct search *search, const struct module_bytes *bytes,
                          const struct visit *visit);

/* Its own needs first, so that the list is in the order of loading. */
static bool read_library(struct search *search, const char *path, char *place,
                         const struct visit *outer)
{
    struct visit visit = {.place = place, .outer = outer};
    struct module_library library = {.name = place};
    bool ok = module_bytes_open(&library.bytes, path, search->error) &&
              (!search->check_owner || module_bytes_check_owner(&library.bytes, search->error)) &&
              read_needs_of(search, &library.bytes, &visit);

    if (ok && search->needs->count == LIMIT_MODULE_LIBRARIES)
        ok = error_set(search->error, ERROR_CONFIG, "more than %d libraries",
                       LIMIT_MODULE_LIBRARIES);
    if (!ok) {
        error_wrap(search->error, "its library %s", path);
        module_bytes_close(&library.bytes);
        free(place);
        return false;
    }
    search->needs->items[search->needs->count++] = library;
    return true;
}

static bool read_needs_of(struct search *search, const struct module_bytes *bytes,
                          const struct visit *visit)
{
    struct elf_image image;
    char path[PATH_MAX];

    if (!elf_image_read(&image, bytes->data, bytes->size, search->error))
        return false;
    for (size_t i = 0; i < image.needed_count; i++) {
        char *place;

        if (!find_library(bytes->real_path, image.run_path, image.needed[i], path))
            continue;
        place = place_of(search, path, image.needed[i]);
        if (place == NULL)
            return error_out_of_memory(search->error);
        if (is_known(search->needs, visit, place))
            free(place);
        else if (!read_library(search, path, place, visit))
            return false;
    }
    return true;
}

bool module_needs_read(struct module_needs *needs, const struct module_bytes *module,
                       bool check_owner, struct error *error)
{
    char root[PATH_MAX];
    struct search search = {
        .needs = needs, .root = root, .check_owner = check_owner, .error = error};

    needs->count = 0;
    snprintf(root, sizeof root, "%.*s", (int)folder_size(module->real_path), module->real_path);
    return read_needs_of(&search, module, NULL);
}

void module_needs_free(struct module_needs *needs)
{
    for (size_t i = 0; i < needs->count; i++) {
        module_bytes_close(&needs->items[i].bytes);
        free(needs->items[i].name);
    }
    needs->count = 0;
}
