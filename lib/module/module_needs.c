/*
 * A module's libraries; see module_needs.h. The order of the search is glibc's:
 * DT_RUNPATH of what needs it alone, or without one DT_RPATH of what needs it and
 * of those that need that in turn.
 */
#include "module/module_needs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};

/* An object whose needs are being read. */
struct visit {
    const char *name; /* "" of a module without SONAME */
    const char *path;
    const struct elf_image *image;
    const struct visit *outer; /* what needs it */
};

struct search {
    struct module_needs *needs;
    bool check_owner;
    struct error *error;
};

static size_t origin_size(const char *entry, size_t size)
{
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
        size_t length = strlen(origins[i]);

        if (size >= length && strncmp(entry, origins[i], length) == 0)
            return length;
    }
    return 0;
}

/* Length of the folder part of a path, with its slash. */
static size_t folder_size(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* `<folder of the entry>/<name>`, if that file is there and the module's own. */
static bool try_entry(const struct visit *visit, const char *entry, size_t size, const char *name,
                      char path[PATH_MAX])
{
    size_t token = origin_size(entry, size);
    int folder = token > 0 ? (int)folder_size(visit->path) : 0;
    bool is_absolute = token == 0 && size > 0 && entry[0] == '/';
    struct stat status;

    if (snprintf(path, PATH_MAX, "%.*s%.*s/%s", folder, visit->path, (int)(size - token),
                 entry + token, name) >= PATH_MAX ||
        stat(path, &status) != 0)
        return false;
    return !is_absolute || !module_bytes_is_of_root(path);
}

static bool try_run_path(const struct visit *visit, const char *run_path, const char *name,
                         char path[PATH_MAX])
{
    while (*run_path != '\0') {
        size_t size = strcspn(run_path, ":");

        if (try_entry(visit, run_path, size, name, path))
            return true;
        run_path += size;
        run_path += *run_path == ':';
    }
    return false;
}

static bool find_library(const struct visit *visit, const char *name, char path[PATH_MAX])
{
    if (visit->image->runpath != NULL)
        return try_run_path(visit, visit->image->runpath, name, path);
    for (; visit != NULL; visit = visit->outer)
        if (visit->image->runpath == NULL && visit->image->rpath != NULL &&
            try_run_path(visit, visit->image->rpath, name, path))
            return true;
    return false;
}

static bool is_glibc(const char *name)
{
    return strcmp(name, "libc.so.6") == 0 || strncmp(name, "ld-linux", 8) == 0;
}

/* As Alpine names it, as others do, and its loader. */
static bool is_musl(const char *name)
{
    return strncmp(name, "libc.musl-", 10) == 0 || strcmp(name, "libc.so") == 0 ||
           strncmp(name, "ld-musl-", 8) == 0;
}

static bool is_known(const struct module_needs *needs, const char *name)
{
    for (size_t i = 0; i < needs->count; i++)
        if (strcmp(needs->items[i].name, name) == 0)
            return true;
    return false;
}

/* The loader looks no library up by a path when it is mapped from memory. */
static bool check_name(const struct elf_image *image, const char *name, struct error *error)
{
    if (image->soname == NULL)
        return error_set(error, ERROR_CONFIG,
                         "has no SONAME, by which alone the loader knows a library that is mapped "
                         "from memory: link it with -Wl,-soname,%s",
                         name);
    if (strcmp(image->soname, name) != 0)
        return error_set(error, ERROR_CONFIG,
                         "has the SONAME '%s', but is needed as '%s': link what needs it once more",
                         image->soname, name);
    return true;
}

static bool check_circle(const struct visit *visit, const char *name, struct error *error)
{
    for (const struct visit *outer = visit->outer; outer != NULL; outer = outer->outer)
        if (strcmp(outer->name, name) == 0)
            return error_set(error, ERROR_CONFIG,
                             "needs '%s', which needs it in turn: link the two into one library",
                             name);
    return true;
}

static bool read_needs_of(struct search *search, const struct visit *visit);

static bool read_parts(struct search *search, struct module_library *library,
                       const struct visit *outer)
{
    struct elf_image image;
    struct visit visit = {
        .name = library->name, .path = library->bytes.real_path, .image = &image, .outer = outer};

    return (!search->check_owner || module_bytes_check_owner(&library->bytes, search->error)) &&
           elf_image_read(&image, library->bytes.data, library->bytes.size, search->error) &&
           check_name(&image, library->name, search->error) && read_needs_of(search, &visit);
}

/* Its own needs first, so that the list is in the order of loading. */
static bool read_library(struct search *search, const char *path, const char *name,
                         const struct visit *outer)
{
    struct module_library library = {.name = strdup(name)};
    bool ok = library.name != NULL || error_out_of_memory(search->error);

    ok = ok && module_bytes_open_sealed(&library.bytes, path, search->error) &&
         read_parts(search, &library, outer);
    if (ok && search->needs->count == LIMIT_MODULE_LIBRARIES)
        ok = error_set(search->error, ERROR_CONFIG, "more than %d libraries",
                       LIMIT_MODULE_LIBRARIES);
    if (!ok) {
        error_wrap(search->error, "its library %s", path);
        module_bytes_close(&library.bytes);
        free(library.name);
        return false;
    }
    search->needs->items[search->needs->count++] = library;
    return true;
}

/* By a path that root alone can change it is the system's; any other is looked up anew by each
 * runner, in the folder where it works or beside a file that is none. */
static bool check_path(const char *name, struct error *error)
{
    struct stat status;

    if (name[0] == '/' && (stat(name, &status) != 0 || module_bytes_is_of_root(name)))
        return true;
    return error_set(error, ERROR_CONFIG,
                     "needs '%s' by its path: give that library a SONAME (-Wl,-soname,%s), link "
                     "again, and let a run path find it (-Wl,-rpath,'$ORIGIN')",
                     name, name + folder_size(name));
}

static bool read_need(struct search *search, const struct visit *visit, const char *name)
{
    char path[PATH_MAX];

    if (is_musl(name))
        return error_set(search->error, ERROR_CONFIG,
                         "needs '%s': it was built for musl, and hosts run on the GNU C library; "
                         "build it on a system with glibc, not in an Alpine image",
                         name);
    if (strchr(name, '/') != NULL)
        return check_path(name, search->error);
    if (is_glibc(name) || strcmp(name, visit->name) == 0 || is_known(search->needs, name) ||
        !find_library(visit, name, path))
        return true;
    return check_circle(visit, name, search->error) && read_library(search, path, name, visit);
}

static bool read_needs_of(struct search *search, const struct visit *visit)
{
    const struct elf_image *image = visit->image;

    if (image->needs_unread)
        return error_set(search->error, ERROR_CONFIG,
                         "its list of needed libraries is broken, or has more than %d", ELF_NEEDED);
    for (size_t i = 0; i < image->needed_count; i++)
        if (!read_need(search, visit, image->needed[i]))
            return false;
    return true;
}

bool module_needs_read(struct module_needs *needs, const struct module_bytes *module,
                       bool check_owner, struct error *error)
{
    struct search search = {.needs = needs, .check_owner = check_owner, .error = error};
    struct elf_image image;
    struct visit visit = {.path = module->real_path, .image = &image};

    needs->count = 0;
    if (!elf_image_read(&image, module->data, module->size, error))
        return false;
    visit.name = image.soname != NULL ? image.soname : "";
    return read_needs_of(&search, &visit);
}

void module_needs_free(struct module_needs *needs)
{
    for (size_t i = 0; i < needs->count; i++) {
        module_bytes_close(&needs->items[i].bytes);
        free(needs->items[i].name);
    }
    needs->count = 0;
}
