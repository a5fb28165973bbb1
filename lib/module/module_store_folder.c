/*
 * Which folder takes the copies for debuggers, and whether it may.
 */
#include "module/module_store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What helps when a folder cannot take the copies. */
#define ELSEWHERE "; choose another folder with --module-dir"

/* The first that is set of what the man page names. Malloced. */
static char *choose_folder(const char *given)
{
    const char *state = getenv("STATE_DIRECTORY");
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *temporary = getenv("TMPDIR");
    char *folder = NULL;

    if (given != NULL)
        return strdup(given);
    if (state != NULL && state[0] != '\0') /* systemd lists several with colons */
        return strndup(state, strcspn(state, ":"));
    if (cache != NULL && cache[0] != '\0')
        return asprintf(&folder, "%s/pgflow", cache) < 0 ? NULL : folder;
    if (temporary == NULL || temporary[0] == '\0')
        temporary = "/tmp";
    return asprintf(&folder, "%s/pgflow-%u", temporary, geteuid()) < 0 ? NULL : folder;
}

/* mkdir -p; the last one with `mode`. */
static bool make_folders(const char *path, mode_t mode, struct error *error)
{
    char part[PATH_MAX];

    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part)
        return error_set(error, ERROR_CONFIG, "the path '%s' is too long", path);
    for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0755) != 0 && errno != EEXIST)
            return error_set(error, ERROR_CONFIG, "cannot make the folder '%s': %s" ELSEWHERE, part,
                             strerror(errno));
        *slash = '/';
    }
    if (mkdir(part, mode) != 0 && errno != EEXIST)
        return error_set(error, ERROR_CONFIG, "cannot make the folder '%s': %s" ELSEWHERE, part,
                         strerror(errno));
    return true;
}

/* Behind a link of somebody else lies what he chose. */
static bool check_link(const char *path, struct error *error)
{
    struct stat about;

    if (lstat(path, &about) != 0 || !S_ISLNK(about.st_mode) || about.st_uid == 0 ||
        about.st_uid == geteuid())
        return true;
    return error_set(error, ERROR_CONFIG,
                     "'%s' is a symbolic link of user %u, and is not followed: remove it" ELSEWHERE,
                     path, about.st_uid);
}

bool module_store_is_ours(int fd)
{
    struct stat about;

    return fstat(fd, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
           (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static bool check_folder(const struct module_store *store, const char *path, struct error *error)
{
    struct stat about;

    if (module_store_is_ours(store->fd))
        return true;
    if (fstat(store->fd, &about) != 0)
        return error_set(error, ERROR_INTERNAL, "'%s': %s", path, strerror(errno));
    return error_set(error, ERROR_CONFIG,
                     "the folder of module copies '%s' must belong to the user of the host (it is "
                     "user %u's, mode %04o) and be writable by no one else: chmod go-w %s, or "
                     "choose another with --module-dir",
                     path, about.st_uid, about.st_mode & 07777, path);
}

/* The name of what was opened. */
static bool find_name(struct module_store *store, struct error *error)
{
    char link[64];
    char path[PATH_MAX];
    ssize_t length;

    snprintf(link, sizeof link, "/proc/self/fd/%d", store->fd);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return error_set(error, ERROR_INTERNAL, "%s: %s", link, strerror(errno));
    store->folder = strndup(path, (size_t)length);
    return store->folder != NULL || error_out_of_memory(error);
}

static void trim_slashes(char *path)
{
    for (size_t size = strlen(path); size > 1 && path[size - 1] == '/'; size--)
        path[size - 1] = '\0';
}

/* A link that an operator names is his own way of saying where; one that lies where anybody can
 * write is not. */
static bool open_chosen(struct module_store *store, const char *path, struct error *error)
{
    /* A debugger of the handlers' user passes through. */
    mode_t mode = store->config.handler_uid == (uid_t)-1 ? 0700 : 0711;
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

    if (!check_link(path, error) || !make_folders(path, mode, error))
        return false;
    if (store->config.folder == NULL)
        flags |= O_NOFOLLOW;
    store->fd = open(path, flags);
    if (store->fd < 0)
        return error_set(error, ERROR_CONFIG, "cannot open the folder '%s': %s%s" ELSEWHERE, path,
                         strerror(errno), errno == ENOTDIR ? " (a link is not followed)" : "");
    return check_folder(store, path, error) && find_name(store, error);
}

bool module_store_open_folder(struct module_store *store, struct error *error)
{
    char *path = choose_folder(store->config.folder);
    bool ok;

    if (path == NULL)
        return error_out_of_memory(error);
    trim_slashes(path);
    ok = open_chosen(store, path, error);
    if (!ok && store->fd >= 0) {
        (void)close(store->fd);
        store->fd = -1;
    }
    free(path);
    return ok;
}
