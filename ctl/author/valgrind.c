/*
 * Valgrind around a runner; see valgrind.h. With --quiet it writes to its log
 * only what it found.
 */
#include "ctl/author/valgrind.h"

#include "base/text_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_on_path(const char *program)
{
    const char *path = getenv("PATH");
    char file[4096];
    while (path != NULL && *path) {
        size_t size = strcspn(path, ":");
        int length = snprintf(file, sizeof file, "%.*s/%s", (int)size, path, program);
        /* Only to say early, and with the remedy, what the start would say. */
        if (length > 0 && (size_t)length < sizeof file && faccessat(AT_FDCWD, file, X_OK, 0) == 0)
            return true;
        path += size + (path[size] == ':');
    }
    return false;
}

bool valgrind_init(struct valgrind *valgrind, struct error *error)
{
    const char *temporary = getenv("TMPDIR");
    *valgrind = (struct valgrind){.folder = ""};
    if (!is_on_path("valgrind"))
        return error_set(error, ERROR_CONFIG,
                         "--under valgrind: there is no valgrind on the PATH; install it (Debian: "
                         "apt install valgrind libc6-dbg)");
    int length = snprintf(valgrind->folder, sizeof valgrind->folder, "%s/pgflow-valgrind-XXXXXX",
                          temporary != NULL && *temporary ? temporary : "/tmp");
    if (length < 0 || (size_t)length >= sizeof valgrind->folder ||
        mkdtemp(valgrind->folder) == NULL) {
        valgrind->folder[0] = '\0';
        return error_set(error, ERROR_INTERNAL, "cannot make a folder in TMPDIR: %s",
                         strerror(errno));
    }
    (void)snprintf(valgrind->log_file, sizeof valgrind->log_file, "--log-file=%s/%%p",
                   valgrind->folder);
    const char *arguments[] = {"valgrind",
                               "--quiet",
                               "--vgdb=no", /* its pipes would stay where it is killed */
                               "--leak-check=full",
                               "--show-leak-kinds=definite",
                               "--errors-for-leak-kinds=definite",
                               valgrind->log_file,
                               NULL};
    memcpy(valgrind->arguments, arguments, sizeof arguments);
    return true;
}

/* Calls `use` for each file of the folder. */
static void each_log(const struct valgrind *valgrind, void (*use)(const char *path, struct buf *),
                     struct buf *out)
{
    char path[512];
    DIR *folder = *valgrind->folder ? opendir(valgrind->folder) : NULL;
    const struct dirent *entry = NULL;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%.200s", valgrind->folder, entry->d_name);
        use(path, out);
    }
    if (folder != NULL)
        (void)closedir(folder);
}

static void append(const char *path, struct buf *out)
{
    struct error ignored;
    (void)!text_file_read(path, out, &ignored);
}

static void drop(const char *path, struct buf *out)
{
    (void)out;
    (void)unlink(path);
}

void valgrind_put_findings(const struct valgrind *valgrind, struct buf *out)
{
    each_log(valgrind, append, out);
}

void valgrind_finish(struct valgrind *valgrind)
{
    each_log(valgrind, drop, NULL);
    if (*valgrind->folder)
        (void)rmdir(valgrind->folder);
    valgrind->folder[0] = '\0';
}
