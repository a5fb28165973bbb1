/*
 * Reads module files; see module_bytes.h.
 */
#include "module/module_bytes.h"

#include "base/file_trust.h"
#include "module/sealed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LIMIT_MODULE_FILE_MIB = 1024, READ_AT_ONCE = 64 * 1024 };

static bool check_kind(const struct stat *about, struct error *error)
{
    if (S_ISDIR(about->st_mode))
        return error_set(error, ERROR_CONFIG, "is a folder, not a shared object");
    if (!S_ISREG(about->st_mode))
        return error_set(error, ERROR_CONFIG, "is no regular file");
    if (about->st_size > (off_t)LIMIT_MODULE_FILE_MIB * LIMIT_MIB)
        return error_set(error, ERROR_CONFIG, "is larger than %d MiB", LIMIT_MODULE_FILE_MIB);
    return true;
}

/* Like read(), but EINTR. At most what `bytes` lacks: a file that grows while it is read is as it
 * was; of one that shrinks the ELF check tells. */
static ssize_t read_some(const struct module_bytes *bytes, int fd, char *into, size_t room)
{
    size_t lacks = (size_t)bytes->about.st_size - bytes->size;
    ssize_t got;

    do
        got = read(fd, into, lacks < room ? lacks : room);
    while (got < 0 && errno == EINTR);
    return got;
}

static bool cannot_be_read(struct error *error)
{
    return error_set(error, ERROR_CONFIG, "cannot be read: %s", strerror(errno));
}

static bool read_all(struct module_bytes *bytes, int fd, struct error *error)
{
    size_t wanted = (size_t)bytes->about.st_size;
    ssize_t got;

    bytes->data = malloc(wanted + 1);
    if (bytes->data == NULL)
        return error_out_of_memory(error);
    while ((got = read_some(bytes, fd, bytes->data + bytes->size, wanted)) > 0)
        bytes->size += (size_t)got;
    return got == 0 || cannot_be_read(error);
}

static bool copy_all(struct module_bytes *bytes, int fd, struct error *error)
{
    static char some[READ_AT_ONCE];
    ssize_t got;

    while ((got = read_some(bytes, fd, some, sizeof some)) > 0) {
        if (!sealed_file_append(bytes->fd, some, (size_t)got, error))
            return false;
        bytes->size += (size_t)got;
    }
    return got == 0 || cannot_be_read(error);
}

static bool map_sealed(struct module_bytes *bytes, struct error *error)
{
    if (bytes->size == 0)
        return true;
    bytes->data = mmap(NULL, bytes->size, PROT_READ, MAP_PRIVATE, bytes->fd, 0);
    if (bytes->data != MAP_FAILED)
        return true;
    bytes->data = NULL;
    return error_set(error, ERROR_INTERNAL, "mmap: %s", strerror(errno));
}

/* Sealed before anything looks at it: what is looked at is what stays. */
static bool seal_all(struct module_bytes *bytes, int fd, struct error *error)
{
    const char *name = strrchr(bytes->real_path, '/') + 1;

    bytes->fd = sealed_file_create(name, error);
    if (bytes->fd < 0)
        return false;
    bytes->is_sealed = true;
    return copy_all(bytes, fd, error) && sealed_file_seal(bytes->fd, error) &&
           map_sealed(bytes, error);
}

/* The name of what was opened, not of what the path may mean by now. */
static bool find_real_path(struct module_bytes *bytes, int fd, struct error *error)
{
    char link[64];
    char path[PATH_MAX];
    ssize_t length;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return error_set(error, ERROR_INTERNAL, "%s: %s", link, strerror(errno));
    path[length] = '\0';
    bytes->real_path = strdup(path);
    return bytes->real_path != NULL || error_out_of_memory(error);
}

static bool open_by(struct module_bytes *bytes, const char *path,
                    bool (*read_it)(struct module_bytes *, int, struct error *),
                    struct error *error)
{
    /* A FIFO must not block us here; for a regular file it changes nothing. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool ok;

    *bytes = (struct module_bytes){.data = NULL};
    if (fd < 0)
        return error_set(error, ERROR_CONFIG, "cannot be opened: %s", strerror(errno));
    ok = fstat(fd, &bytes->about) == 0 ||
         error_set(error, ERROR_CONFIG, "fstat: %s", strerror(errno));
    ok = ok && check_kind(&bytes->about, error) && find_real_path(bytes, fd, error) &&
         read_it(bytes, fd, error);
    (void)close(fd);
    return ok;
}

bool module_bytes_open(struct module_bytes *bytes, const char *path, struct error *error)
{
    return open_by(bytes, path, read_all, error);
}

bool module_bytes_open_sealed(struct module_bytes *bytes, const char *path, struct error *error)
{
    return open_by(bytes, path, seal_all, error);
}

int module_bytes_take_fd(struct module_bytes *bytes)
{
    int fd = bytes->fd;

    bytes->fd = -1;
    return fd;
}

void module_bytes_close(struct module_bytes *bytes)
{
    if (!bytes->is_sealed) {
        free(bytes->data);
    } else {
        if (bytes->data != NULL)
            (void)munmap(bytes->data, bytes->size);
        if (bytes->fd >= 0)
            (void)close(bytes->fd);
    }
    free(bytes->real_path);
    *bytes = (struct module_bytes){.data = NULL};
}

bool module_bytes_check_owner(const struct module_bytes *bytes, struct error *error)
{
    return file_trust_check(bytes->real_path, &bytes->about,
                            ", or allow it with --allow-writable-plugins", error);
}

static bool is_roots(const struct stat *about)
{
    bool is_shared_folder = S_ISDIR(about->st_mode) && (about->st_mode & S_ISVTX) != 0;

    return about->st_uid == 0 && ((about->st_mode & (S_IWGRP | S_IWOTH)) == 0 || is_shared_folder);
}

bool module_bytes_is_of_root(const char *path)
{
    char *part = realpath(path, NULL);
    struct stat about;
    bool is_of_root = part != NULL;

    while (is_of_root) {
        char *slash = strrchr(part, '/');

        is_of_root = stat(part[0] != '\0' ? part : "/", &about) == 0 && is_roots(&about);
        if (slash == NULL)
            break;
        *slash = '\0'; /* its folder; "" is the root */
    }
    free(part);
    return is_of_root;
}
