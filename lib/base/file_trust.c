/*
 * Owner and mode of files that are believed; see file_trust.h.
 */
#include "base/file_trust.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static bool is_read_only(const char *path)
{
    struct statvfs mount;

    return statvfs(path, &mount) == 0 && (mount.f_flag & ST_RDONLY) != 0;
}

static bool check_one(const char *path, const struct stat *about, const char *remedy,
                      struct error *error)
{
    bool is_shared_folder = S_ISDIR(about->st_mode) && (about->st_mode & S_ISVTX) != 0;

    if (about->st_uid != 0 && about->st_uid != geteuid())
        return error_set(error, ERROR_CONFIG,
                         "'%s' belongs to user %u, who could change it: chown it to root or to the "
                         "user of this program (%u)%s",
                         path, about->st_uid, geteuid(), remedy);
    if ((about->st_mode & (S_IWGRP | S_IWOTH)) == 0 || is_shared_folder || is_read_only(path))
        return true;
    return error_set(error, ERROR_CONFIG,
                     "'%s' can be written by others than its owner (mode %04o): chmod go-w %s%s",
                     path, about->st_mode & 07777, path, remedy);
}

bool file_trust_check(const char *path, const struct stat *about, const char *remedy,
                      struct error *error)
{
    char folder[PATH_MAX];
    struct stat about_folder;
    char *slash;

    if (!check_one(path, about, remedy, error))
        return false;
    snprintf(folder, sizeof folder, "%s", path);
    slash = strrchr(folder, '/');
    if (slash == NULL)
        return true;
    slash[slash == folder ? 1 : 0] = '\0';
    if (stat(folder, &about_folder) != 0)
        return error_set(error, ERROR_CONFIG, "its folder '%s': %s", folder, strerror(errno));
    return check_one(folder, &about_folder, remedy, error);
}

bool file_trust_check_open(int fd, struct error *error)
{
    char link[64];
    char path[PATH_MAX];
    struct stat about;
    ssize_t length;

    if (fstat(fd, &about) != 0)
        return error_set(error, ERROR_INTERNAL, "fstat: %s", strerror(errno));
    if (!S_ISREG(about.st_mode) && !S_ISFIFO(about.st_mode))
        return true;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return error_set(error, ERROR_INTERNAL, "%s: %s", link, strerror(errno));
    path[length] = '\0';
    if (file_trust_check(path, &about, "", error))
        return true;
    if (error != NULL)
        error->code = ERROR_USAGE; /* it is what somebody gave */
    return false;
}
