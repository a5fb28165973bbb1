/*
 * Reads module files; see module_bytes.h.
 */
#include "module/module_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_MODULE_FILE_MIB = 1024 };

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

static bool read_all(struct module_bytes *bytes, int fd, struct error *error)
{
    size_t wanted = (size_t)bytes->about.st_size;

    bytes->data = malloc(wanted + 1);
    if (bytes->data == NULL)
        return error_out_of_memory(error);
    while (bytes->size < wanted) {
        ssize_t got = read(fd, bytes->data + bytes->size, wanted - bytes->size);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set(error, ERROR_CONFIG, "cannot be read: %s", strerror(errno));
        if (got == 0)
            break; /* it shrinks while we read; the ELF check tells */
        bytes->size += (size_t)got;
    }
    return true;
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

bool module_bytes_open(struct module_bytes *bytes, const char *path, struct error *error)
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
         read_all(bytes, fd, error);
    close(fd);
    return ok;
}

void module_bytes_close(struct module_bytes *bytes)
{
    free(bytes->data);
    free(bytes->real_path);
    *bytes = (struct module_bytes){.data = NULL};
}

static bool check_owner(const char *path, const struct stat *about, bool sticky_helps,
                        struct error *error)
{
    if (about->st_uid != 0 && about->st_uid != geteuid())
        return error_set(error, ERROR_CONFIG,
                         "'%s' belongs to user %u, who could replace what runs here: chown it to "
                         "root or to the user of the host (%u), or allow it with "
                         "--allow-writable-plugins",
                         path, about->st_uid, geteuid());
    if ((about->st_mode & (S_IWGRP | S_IWOTH)) == 0 ||
        (sticky_helps && (about->st_mode & S_ISVTX) != 0))
        return true;
    return error_set(error, ERROR_CONFIG,
                     "'%s' can be written by others than its owner (mode %04o): chmod go-w %s, or "
                     "allow it with --allow-writable-plugins",
                     path, about->st_mode & 07777, path);
}

bool module_bytes_check_owner(const struct module_bytes *bytes, struct error *error)
{
    char folder[PATH_MAX];
    struct stat about;
    char *slash;

    if (!check_owner(bytes->real_path, &bytes->about, false, error))
        return false;
    snprintf(folder, sizeof folder, "%s", bytes->real_path);
    slash = strrchr(folder, '/');
    if (slash == NULL || slash == folder)
        folder[1] = '\0';
    else
        *slash = '\0';
    if (stat(folder, &about) != 0)
        return error_set(error, ERROR_CONFIG, "its folder '%s': %s", folder, strerror(errno));
    return check_owner(folder, &about, true, error);
}
