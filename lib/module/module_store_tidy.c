/*
 * Removes old copies; module_store.h says which. All of it by descriptors: no
 * name is looked up twice, and no link is followed.
 */
#include "module/module_store_internal.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { KEPT_S = 7 * 24 * 3600, LONGEST_ID = 2 * ELF_BUILD_ID_BYTES };

static bool is_copy_name(const char *name)
{
    size_t digits = 0;

    while (isxdigit((unsigned char)name[digits]))
        digits++;
    return digits >= STORE_SHORTEST_ID && digits <= LONGEST_ID && name[digits] == '\0';
}

static bool is_file_of_ours(int folder, const char *name)
{
    struct stat about;

    return fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(about.st_mode) &&
           about.st_uid == geteuid();
}

static bool is_old(int fd)
{
    struct stat about;

    return fstat(fd, &about) == 0 && time(NULL) - about.st_mtime > KEPT_S;
}

/* Calls `use` for each name in the folder. */
static void each_entry(int folder, void (*use)(int folder, const char *name, void *context),
                       void *context)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again < 0 ? NULL : fdopendir(again);
    const struct dirent *entry;

    if (list == NULL) {
        if (again >= 0)
            (void)close(again);
        return;
    }
    while ((entry = readdir(list)) != NULL) /* NOLINT(concurrency-mt-unsafe) */
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            use(folder, entry->d_name, context);
    (void)closedir(list);
}

/* What is no file of ours stays, and so do its folder and the marker in it. */
static void remove_file(int folder, const char *name, void *context)
{
    bool *all_gone = context;

    if (strcmp(name, STORE_MARK) == 0)
        return;
    if (!is_file_of_ours(folder, name) || unlinkat(folder, name, 0) != 0)
        *all_gone = false;
}

static void remove_if_old(int store, const char *name, void *context)
{
    bool all_gone = true;
    int fd;

    (void)context;
    if (!is_copy_name(name))
        return;
    fd = openat(store, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (module_store_is_ours(fd) && is_file_of_ours(fd, STORE_MARK) && is_old(fd)) {
        each_entry(fd, remove_file, &all_gone);
        if (all_gone && unlinkat(fd, STORE_MARK, 0) == 0)
            (void)!unlinkat(store, name, AT_REMOVEDIR);
    }
    (void)close(fd);
}

void module_store_tidy(const struct module_store *store)
{
    each_entry(store->fd, remove_if_old, NULL);
}
