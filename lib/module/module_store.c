/*
 * Copies for debuggers; see module_store.h.
 */
#include "module/module_store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct module_store *module_store_open(const struct module_store_config *config,
                                       struct error *error)
{
    struct module_store *store = calloc(1, sizeof *store);
    struct error trouble = {0};

    if (store == NULL) {
        (void)error_out_of_memory(error);
        return NULL;
    }
    store->config = *config;
    store->fd = -1;
    if (config->without_copies)
        return store;
    if (module_store_open_folder(store, &trouble)) {
        module_store_tidy(store);
    } else if (config->folder != NULL) { /* what was asked for must be done */
        module_store_close(store);
        (void)error_set(error, trouble.code, "%s", trouble.text);
        return NULL;
    } else {
        snprintf(store->trouble, sizeof store->trouble, "%s", trouble.text);
    }
    return store;
}

void module_store_close(struct module_store *store)
{
    if (store == NULL)
        return;
    if (store->fd >= 0)
        (void)close(store->fd);
    free(store->folder);
    free(store);
}

const char *module_store_folder(const struct module_store *store)
{
    return store->folder;
}

const char *module_store_trouble(const struct module_store *store)
{
    return store->trouble;
}

/* ---- One copy ---- */

static bool is_same_file(int folder, const char *name, const struct module_bytes *bytes)
{
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat about;
    void *there = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0 &&
        (size_t)about.st_size == bytes->size)
        there = mmap(NULL, bytes->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        (void)close(fd);
    if (there == MAP_FAILED)
        return false;
    bool same = memcmp(there, bytes->data, bytes->size) == 0;
    (void)munmap(there, bytes->size);
    return same;
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, data, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        data += written;
        size -= (size_t)written;
    }
    return true;
}

/* Under another name first: a file under its own name is whole. */
static bool write_file(int folder, const char *name, const char *data, size_t size)
{
    char temporary[32];
    int fd;
    bool ok;

    snprintf(temporary, sizeof temporary, ".new-%d", getpid());
    (void)!unlinkat(folder, temporary, 0); /* of one that died with our number */
    fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (fd < 0)
        return false;
    /* The mode does not depend on the host's umask. */
    ok = write_all(fd, data, size) && fchmod(fd, 0444) == 0;
    ok = close(fd) == 0 && ok && renameat(folder, temporary, folder, name) == 0;
    if (!ok) {
        int number = errno;

        (void)!unlinkat(folder, temporary, 0);
        errno = number;
    }
    return ok;
}

/* -1: errno says why. */
static int open_copy_folder(const struct module_store *store, const char *id)
{
    int fd;

    if (mkdirat(store->fd, id, 0755) != 0 && errno != EEXIST)
        return -1;
    fd = openat(store->fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (module_store_is_ours(fd) && fchmod(fd, 0755) == 0 &&
        (faccessat(fd, STORE_MARK, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
         write_file(fd, STORE_MARK, "", 0)))
        return fd;
    (void)close(fd);
    if (errno == 0)
        errno = EPERM;
    return -1;
}

static bool put(struct module_store *store, const char *id, const char *name,
                const struct module_bytes *bytes)
{
    int fd = open_copy_folder(store, id);
    bool ok = fd >= 0 &&
              (is_same_file(fd, name, bytes) || write_file(fd, name, bytes->data, bytes->size));

    if (!ok)
        snprintf(store->trouble, sizeof store->trouble, "cannot write '%s/%s/%s': %s",
                 store->folder, id, name, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return ok;
}

/* Two files of one build, one of them stripped, or a build-id that somebody chose: the second one
 * goes by its digest. */
static bool is_taken(const struct module_store *store, const char *id, const char *name,
                     const struct module_bytes *bytes)
{
    int fd = openat(store->fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool taken = fd >= 0 && faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
                 !is_same_file(fd, name, bytes);

    if (fd >= 0)
        (void)close(fd);
    return taken;
}

char *module_store_keep(struct module_store *store, const char *build_id, const char *name,
                        const struct module_bytes *bytes)
{
    char digest[DIGEST_HEX + 1];
    const char *id = build_id;
    char *path = NULL;

    if (store->folder == NULL)
        return NULL;
    if (strlen(build_id) < STORE_SHORTEST_ID || is_taken(store, id, name, bytes)) {
        if (!digest_of(bytes->data, bytes->size, digest, NULL))
            return NULL;
        id = digest;
    }
    if (!put(store, id, name, bytes) || asprintf(&path, "%s/%s/%s", store->folder, id, name) < 0)
        return NULL;
    module_store_touch(store, path);
    return path;
}

void module_store_touch(const struct module_store *store, const char *path)
{
    size_t size = store->folder != NULL ? strlen(store->folder) : 0;
    char id[2 * ELF_BUILD_ID_BYTES + 1];

    if (size == 0 || strncmp(path, store->folder, size) != 0 || path[size] != '/')
        return;
    size_t digits = strspn(path + size + 1, "0123456789abcdef");
    if (digits == 0 || digits >= sizeof id)
        return;
    memcpy(id, path + size + 1, digits);
    id[digits] = '\0';
    (void)!utimensat(store->fd, id, NULL, AT_SYMLINK_NOFOLLOW);
}
