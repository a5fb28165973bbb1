/*
 * Service files; see service_file.h. libpq reads PGSERVICEFILE, or ~/.pg_service.conf without it,
 * then pg_service.conf in PGSYSCONFDIR or in a folder that was compiled in.
 */
#include "db/service_file.h"

#include "base/file_trust.h"

#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* One that is not there is libpq's to miss. */
static bool check_file(const char *path, struct error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool trusted = fd < 0 || file_trust_check_open(fd, error) || error_wrap(error, "service file");
    if (fd >= 0)
        (void)close(fd);
    return trusted;
}

static bool check_in(const char *folder, const char *name, struct error *error)
{
    char path[PATH_MAX];
    if (folder == NULL || !*folder ||
        snprintf(path, sizeof path, "%s/%s", folder, name) >= PATH_MAX)
        return true;
    return check_file(path, error);
}

bool service_file_check(const char *service, struct error *error)
{
    const char *variable = getenv("PGSERVICE");
    const char *named = getenv("PGSERVICEFILE");
    if (service == NULL && !(variable != NULL && *variable))
        return true;
    if (named != NULL && *named) {
        if (!check_file(named, error))
            return false;
    } else {
        const struct passwd *user = getpwuid(geteuid()); /* NOLINT(concurrency-mt-unsafe) */
        if (!check_in(user != NULL ? user->pw_dir : NULL, ".pg_service.conf", error))
            return false;
    }
    return check_in(getenv("PGSYSCONFDIR"), "pg_service.conf", error);
}
