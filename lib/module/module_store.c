/*
 * Private copies on disk; see module_store.h.
 */
#include "module/module_store.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char temporary_prefix[] = ".new-";

/* What helps when a folder cannot take the copies. */
#define ELSEWHERE "; choose another folder with --module-dir"

/* The first that is set of what host.md names. The result is malloced. */
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

/* Whoever can write it can put another module under our name. */
static bool check_folder(const struct module_store *store, struct error *error)
{
    struct statvfs mount;
    struct stat about;

    if (fstat(store->fd, &about) != 0 || fstatvfs(store->fd, &mount) != 0)
        return error_set(error, ERROR_INTERNAL, "'%s': %s", store->folder, strerror(errno));
    if ((mount.f_flag & ST_NOEXEC) != 0)
        return error_set(error, ERROR_CONFIG,
                         "modules cannot be loaded from '%s': its file system is mounted noexec; "
                         "choose another folder with --module-dir",
                         store->folder);
    if ((about.st_uid != 0 && about.st_uid != geteuid()) ||
        (about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return error_set(error, ERROR_CONFIG,
                         "the folder of private module copies '%s' must belong to the user of the "
                         "host (it is user %u's, mode %04o) and be writable by no one else: chmod "
                         "go-w %s, or choose another with --module-dir",
                         store->folder, about.st_uid, about.st_mode & 07777, store->folder);
    return true;
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *walk)
{
    (void)about;
    (void)walk;
    if (kind == FTW_D || kind == FTW_DNR)
        return 0;
    return remove(path);
}

static void remove_tree(const char *path)
{
    /* Depth first: folders come after what is in them. */
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    remove(path);
}

static bool is_copy_name(const char *name)
{
    size_t digits = 0;

    while (isxdigit((unsigned char)name[digits]))
        digits++;
    return digits == DIGEST_HEX && name[digits] == '\0';
}

/* No one can be about to use it: the store is locked. */
static void remove_if_unused(const struct module_store *store, const char *name)
{
    char path[PATH_MAX];
    int fd;

    if (snprintf(path, sizeof path, "%s/%s", store->folder, name) >= (int)sizeof path)
        return;
    if (strncmp(name, temporary_prefix, sizeof temporary_prefix - 1) == 0) {
        remove_tree(path); /* its maker died: it would hold the store's lock */
        return;
    }
    if (!is_copy_name(name))
        return;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        remove_tree(path);
    if (fd >= 0)
        close(fd);
}

static void remove_unused(const struct module_store *store)
{
    DIR *folder = opendir(store->folder);
    const struct dirent *entry;

    if (folder == NULL)
        return;
    while ((entry = readdir(folder)) != NULL) /* NOLINT(concurrency-mt-unsafe) */
        remove_if_unused(store, entry->d_name);
    closedir(folder);
}

static bool lock_store(const struct module_store *store, struct error *error)
{
    while (flock(store->fd, LOCK_EX) != 0)
        if (errno != EINTR)
            return error_set(error, ERROR_CONFIG, "cannot lock '%s': %s", store->folder,
                             strerror(errno));
    return true;
}

static void unlock_store(const struct module_store *store)
{
    flock(store->fd, LOCK_UN);
}

static bool open_folder(struct module_store *store, struct error *error)
{
    /* Another user's runner must be able to pass through. */
    mode_t mode = store->config.handler_uid == (uid_t)-1 ? 0700 : 0711;
    char *chosen = choose_folder(store->config.folder);
    bool ok = chosen != NULL ? make_folders(chosen, mode, error) : error_out_of_memory(error);

    if (ok) {
        store->folder = realpath(chosen, NULL);
        if (store->folder != NULL)
            store->fd = open(store->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (store->fd < 0)
            ok = error_set(error, ERROR_CONFIG, "cannot open the folder '%s': %s" ELSEWHERE, chosen,
                           strerror(errno));
    }
    free(chosen);
    return ok;
}

struct module_store *module_store_open(const struct module_store_config *config,
                                       struct error *error)
{
    struct module_store *store = calloc(1, sizeof *store);

    if (store == NULL) {
        error_out_of_memory(error);
        return NULL;
    }
    store->config = *config;
    store->fd = -1;
    if (!open_folder(store, error) || !check_folder(store, error) || !lock_store(store, error)) {
        module_store_close(store);
        return NULL;
    }
    remove_unused(store);
    unlock_store(store);
    return store;
}

void module_store_close(struct module_store *store)
{
    if (store == NULL)
        return;
    if (store->fd >= 0)
        close(store->fd);
    free(store->folder);
    free(store);
}

const char *module_store_folder(const struct module_store *store)
{
    return store->folder;
}

static bool write_file(const char *path, const struct module_bytes *bytes, struct error *error)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    size_t done = 0;

    while (fd >= 0 && done < bytes->size) {
        ssize_t written = write(fd, bytes->data + done, bytes->size - done);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            break;
        done += (size_t)written;
    }
    /* The mode of the copy does not depend on the host's umask. */
    if (fd < 0 || done < bytes->size || fchmod(fd, 0444) != 0) {
        error_set(error, ERROR_CONFIG, "cannot write '%s': %s" ELSEWHERE, path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return false;
    }
    return close(fd) == 0 ||
           error_set(error, ERROR_CONFIG, "cannot write '%s': %s" ELSEWHERE, path, strerror(errno));
}

/* The folder that a file goes to; runners of another user must pass through,
 * whatever the umask. */
static bool make_folder_of(const char *path, struct error *error)
{
    char folder[PATH_MAX];

    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    if (!make_folders(folder, 0755, error))
        return false;
    return chmod(folder, 0755) == 0 ||
           error_set(error, ERROR_CONFIG, "chmod '%s': %s", folder, strerror(errno));
}

static bool write_item(const char *folder, const struct store_item *item, struct error *error)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/%s", folder, item->name) >= (int)sizeof path)
        return error_set(error, ERROR_CONFIG, "the path '%s/%s' is too long", folder, item->name);
    return make_folder_of(path, error) && write_file(path, item->bytes, error);
}

enum item_state { ITEM_THERE, ITEM_MISSING, ITEM_CHANGED };

static enum item_state look_at_item(const char *folder, const struct store_item *item)
{
    struct module_bytes there;
    char path[PATH_MAX];
    struct stat about;
    bool same;

    if (snprintf(path, sizeof path, "%s/%s", folder, item->name) >= (int)sizeof path)
        return ITEM_MISSING;
    if (stat(path, &about) != 0)
        return ITEM_MISSING;
    same = module_bytes_open(&there, path, NULL) && there.size == item->bytes->size &&
           memcmp(there.data, item->bytes->data, there.size) == 0;
    module_bytes_close(&there);
    return same ? ITEM_THERE : ITEM_CHANGED;
}

/* The worst of all items: missing is mended, changed is not. */
static enum item_state look_at_copy(const char *folder, const struct store_item *items,
                                    size_t count)
{
    enum item_state worst = ITEM_THERE;

    for (size_t i = 0; i < count; i++) {
        enum item_state state = look_at_item(folder, &items[i]);

        worst = state > worst ? state : worst;
    }
    return worst;
}

static bool move_item(const char *from, const char *to, const struct store_item *item,
                      struct error *error)
{
    char source[PATH_MAX];
    char target[PATH_MAX];

    if (snprintf(source, sizeof source, "%s/%s", from, item->name) >= (int)sizeof source ||
        snprintf(target, sizeof target, "%s/%s", to, item->name) >= (int)sizeof target)
        return error_set(error, ERROR_CONFIG, "the path '%s/%s' is too long", to, item->name);
    return make_folder_of(target, error) &&
           (rename(source, target) == 0 ||
            error_set(error, ERROR_CONFIG, "cannot rename '%s' to '%s': %s", source, target,
                      strerror(errno)));
}

/* Written elsewhere first: a file under its final name is whole. The same bytes
 * may be there under another name already, and in use. */
static bool add_missing(const struct module_store *store, const char *path,
                        const struct store_item *items, size_t count, struct error *error)
{
    char temporary[PATH_MAX];
    bool ok = true;

    if (snprintf(temporary, sizeof temporary, "%s/%scopy", store->folder, temporary_prefix) >=
        (int)sizeof temporary)
        return error_set(error, ERROR_CONFIG, "the path of '%s' is too long", store->folder);
    remove_tree(temporary);
    for (size_t i = 0; i < count && ok; i++)
        if (look_at_item(path, &items[i]) == ITEM_MISSING)
            ok = write_item(temporary, &items[i], error) &&
                 move_item(temporary, path, &items[i], error);
    remove_tree(temporary);
    return ok;
}

static bool is_used(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool used = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;

    if (fd >= 0)
        close(fd);
    return used;
}

static bool install_locked(const struct module_store *store, const char *path,
                           const struct store_item *items, size_t count, struct error *error)
{
    if (look_at_copy(path, items, count) == ITEM_CHANGED) {
        if (is_used(path))
            return error_set(error, ERROR_CONFIG,
                             "the copy in '%s' was changed while another host uses it: stop that "
                             "host and remove the folder, or choose another with --module-dir",
                             path);
        remove_tree(path);
    }
    return add_missing(store, path, items, count, error);
}

int module_store_install(struct module_store *store, const char *digest,
                         const struct store_item *items, size_t count, struct error *error)
{
    char path[PATH_MAX];
    int fd = -1;

    if (snprintf(path, sizeof path, "%s/%s", store->folder, digest) >= (int)sizeof path) {
        error_set(error, ERROR_CONFIG, "the path of '%s' is too long", store->folder);
        return -1;
    }
    if (!lock_store(store, error))
        return -1;
    if (install_locked(store, path, items, count, error)) {
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) != 0) {
            error_set(error, ERROR_CONFIG, "cannot lock '%s': %s", path, strerror(errno));
            if (fd >= 0)
                close(fd);
            fd = -1;
        }
    }
    unlock_store(store);
    return fd;
}
