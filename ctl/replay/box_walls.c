#include "ctl/replay/box_walls.h"

#include "ctl/replay/box_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of <sys/mount.h>, which cannot stand beside <linux/mount.h> in older C libraries. */
extern int mount(const char *source, const char *target, const char *type, unsigned long flags,
                 const void *data);
enum { FLAG_NOSUID = 2, FLAG_NODEV = 4, FLAG_BIND = 4096, FLAG_MOVE = 8192, FLAG_REC = 16384 };
#define FLAG_RDONLY 1UL
#define FLAG_PRIVATE (1UL << 18)

enum { NAMESPACES = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS };
enum { KEPT_MOST = 8, PATH_ROOM = 64 };

/* Whatever listens or can be written below these is not the box's. */
static const char *const private_folders[] = {"/tmp", "/run", "/var/run", "/var/tmp"};
static const char *const devices[] = {"null", "zero", "full", "random", "urandom"};

static bool refuse(struct error *error, const char *what)
{
    return error_set(error, ERROR_CONFIG, "%s: %s", what, strerror(errno));
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    (void)close(fd);
    return ok;
}

/* This user is itself inside too: files are read with the same rights. */
static bool map_user(uid_t user, gid_t group)
{
    char text[PATH_ROOM];
    if (!write_text("/proc/self/setgroups", "deny"))
        return false;
    (void)snprintf(text, sizeof text, "%u %u 1", user, user);
    if (!write_text("/proc/self/uid_map", text))
        return false;
    (void)snprintf(text, sizeof text, "%u %u 1", group, group);
    return write_text("/proc/self/gid_map", text);
}

bool box_walls_leave(struct error *error)
{
    uid_t user = geteuid();
    gid_t group = getegid();
    if (unshare(CLONE_NEWUSER | NAMESPACES) == 0)
        return map_user(user, group) || refuse(error, "the maps of a user namespace");
    /* Root needs no namespace of users. */
    return unshare(NAMESPACES) == 0 || refuse(error, "unshare");
}

static bool make_folders(const char *path)
{
    char part[PATH_MAX];
    for (const char *end = strchr(path + 1, '/'); end != NULL; end = strchr(end + 1, '/')) {
        (void)snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
        if (mkdir(part, 0755) != 0 && errno != EEXIST && errno != EROFS)
            return false;
    }
    return true;
}

static const char *private_folder_of(const char *path)
{
    for (size_t i = 0; i < sizeof private_folders / sizeof private_folders[0]; i++) {
        size_t size = strlen(private_folders[i]);
        if (strncmp(path, private_folders[i], size) == 0 && path[size] == '/')
            return private_folders[i];
    }
    return NULL;
}

/* Its folder, because libraries lie beside it; only the file where that is the private one. */
struct kept {
    char path[PATH_MAX];
    int fd;
};

static bool hold_kept(struct kept *kept, const char *path)
{
    const char *folder = private_folder_of(path);
    *kept = (struct kept){.fd = -1};
    if (folder == NULL)
        return true;
    (void)snprintf(kept->path, sizeof kept->path, "%s", path);
    char *slash = strrchr(kept->path, '/');
    if (slash != kept->path + strlen(folder))
        *slash = '\0';
    kept->fd = open(kept->path, O_PATH | O_CLOEXEC);
    return kept->fd >= 0;
}

static bool show_kept(const struct kept *kept)
{
    char source[PATH_ROOM];
    struct stat status;
    if (kept->fd < 0)
        return true;
    (void)snprintf(source, sizeof source, "/proc/self/fd/%d", kept->fd);
    if (!make_folders(kept->path) || fstat(kept->fd, &status) != 0)
        return false;
    if (S_ISDIR(status.st_mode) ? mkdir(kept->path, 0755) != 0 && errno != EEXIST
                                : mknod(kept->path, S_IFREG | 0644, 0) != 0 && errno != EEXIST)
        return false;
    bool ok = mount(source, kept->path, NULL, FLAG_BIND | FLAG_REC, NULL) == 0;
    (void)close(kept->fd);
    return ok;
}

static bool set_read_only(const char *path)
{
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID};
    return syscall(SYS_mount_setattr, AT_FDCWD, path, AT_RECURSIVE, &attributes,
                   sizeof attributes) == 0;
}

static bool mount_private(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return true; /* nothing there to hide */
    return mount("tmpfs", path, "tmpfs", FLAG_NOSUID | FLAG_NODEV, "mode=1777,size=256m") == 0;
}

/* Devices that only answer; no disk, no terminal, no /dev/shm of others. */
static bool mount_devices(void)
{
    char from[PATH_ROOM], to[PATH_ROOM];
    if (mkdir("/tmp/.dev", 0755) != 0 ||
        mount("tmpfs", "/tmp/.dev", "tmpfs", FLAG_NOSUID, "mode=755,size=64m") != 0)
        return false;
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        (void)snprintf(from, sizeof from, "/dev/%s", devices[i]);
        (void)snprintf(to, sizeof to, "/tmp/.dev/%s", devices[i]);
        if (mknod(to, S_IFREG | 0666, 0) != 0 || mount(from, to, NULL, FLAG_BIND, NULL) != 0)
            return false;
    }
    if (mkdir("/tmp/.dev/shm", 01777) != 0 || symlink("/proc/self/fd", "/tmp/.dev/fd") != 0 ||
        mount("/tmp/.dev", "/dev", NULL, FLAG_MOVE, NULL) != 0)
        return false;
    return rmdir("/tmp/.dev") == 0;
}

/* Of the new processes alone, and only those that one may trace: runners do not see the box. Its
 * group 0 is no exception with 4, as it is with 2. */
static bool mount_processes(void)
{
    return mount("proc", "/proc", "proc", FLAG_NOSUID | FLAG_NODEV | FLAG_RDONLY, "hidepid=4") == 0;
}

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    for (unsigned long one = 0; prctl(PR_CAPBSET_READ, one, 0, 0, 0) >= 0; one++)
        if (prctl(PR_CAPBSET_DROP, one, 0, 0, 0) != 0)
            return false;
    return prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0) == 0 &&
           syscall(SYS_capset, &header, none) == 0;
}

static bool close_mounts(char *const *paths, size_t count, struct error *error)
{
    struct kept kept[KEPT_MOST];
    if (mount(NULL, "/", NULL, FLAG_PRIVATE | FLAG_REC, NULL) != 0)
        return refuse(error, "a mount namespace");
    for (size_t i = 0; i < count; i++)
        if (!hold_kept(&kept[i], paths[i]))
            return refuse(error, paths[i]);
    if (!set_read_only("/"))
        return refuse(error, "read-only mounts (Linux 5.12 has them)");
    for (size_t i = 0; i < sizeof private_folders / sizeof private_folders[0]; i++)
        if (!mount_private(private_folders[i]))
            return refuse(error, private_folders[i]);
    if (!mount_devices())
        return refuse(error, "a /dev of its own");
    for (size_t i = 0; i < count; i++) {
        if (!show_kept(&kept[i]))
            return refuse(error, paths[i]);
        if (kept[i].fd >= 0 && !set_read_only(kept[i].path))
            return refuse(error, paths[i]);
    }
    return mount_processes() || refuse(error, "a /proc of its own");
}

bool box_walls_close(char *const *kept, size_t count, struct error *error)
{
    if (!close_mounts(kept, count, error))
        return false;
    if (chdir("/") != 0 || !drop_capabilities())
        return refuse(error, "giving up capabilities");
    /* Its memory still has what the command line and the environment said. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return refuse(error, "prctl");
    return box_filter_install(error);
}
