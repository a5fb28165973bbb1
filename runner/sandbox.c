/*
 * The runner's sandbox; see sandbox.h.
 */
#include "runner/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* Below every other process of the machine that has no reason to die first. */
static const char oom_score[] = "500";

/* Done before the user changes: /proc/self belongs to root while the process is
 * not dumpable. A kernel that refuses costs nothing but the preference. */
static void volunteer_for_oom_killer(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    if (write(fd, oom_score, sizeof oom_score - 1) < 0) {
        /* Only a preference. */
    }
    (void)close(fd);
}

static bool become_handler_user(const struct runner_options *options, struct error *error)
{
    if (options->uid == (uid_t)-1)
        return true;
    if (options->uid == geteuid() && options->gid == getegid())
        return true;
    if (setgroups(1, &options->gid) != 0 ||
        setresgid(options->gid, options->gid, options->gid) != 0 ||
        setresuid(options->uid, options->uid, options->uid) != 0)
        return error_set(error, ERROR_CONFIG,
                         "cannot become user %u, group %u: %s (only root can use --handler-user)",
                         options->uid, options->gid, strerror(errno));
    /* Changing the user made the process undumpable: no core, and a /proc/self
     * that the handler cannot read. */
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return true;
}

/* The kernel forgets PDEATHSIG at a change of user, so it comes after that. A
 * parent that died before the call is noticed by the comparison. */
static bool die_with_parent(pid_t parent, struct error *error)
{
    if (parent == 0)
        return true;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        return error_set(error, ERROR_INTERNAL, "prctl(PR_SET_PDEATHSIG): %s", strerror(errno));
    if (getppid() != parent)
        return error_set(error, ERROR_INTERNAL, "parent is %d, expected %d: the host is gone",
                         getppid(), parent);
    return true;
}

static bool limit_memory(size_t memory, struct error *error)
{
#ifdef PGFLOW_SANITIZED
    /* The sanitizer's shadow takes terabytes of address space. */
    (void)memory;
    (void)error;
    return true;
#else
    struct rlimit limit = {.rlim_cur = memory, .rlim_max = memory};

    if (memory == 0)
        return true;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return error_set(error, ERROR_INTERNAL, "cannot limit memory to %zu bytes: %s", memory,
                         strerror(errno));
    return true;
#endif
}

static bool limit_files(rlim_t files, struct error *error)
{
    struct rlimit limit;

    if (files == 0)
        return true;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = files;
        if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
            return true;
    }
    return error_set(error, ERROR_INTERNAL, "cannot limit descriptors to %llu: %s",
                     (unsigned long long)files, strerror(errno));
}

static bool limit_core(bool core, struct error *error)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_CORE, &limit) != 0)
        return error_set(error, ERROR_INTERNAL, "getrlimit: %s", strerror(errno));
    limit.rlim_cur = core ? limit.rlim_max : 0;
    if (!core)
        limit.rlim_max = 0;
    if (setrlimit(RLIMIT_CORE, &limit) != 0)
        return error_set(error, ERROR_INTERNAL, "setrlimit(RLIMIT_CORE): %s", strerror(errno));
    return true;
}

bool sandbox_enter(const struct runner_options *options, int first_fd, struct error *error)
{
    volunteer_for_oom_killer();
    if (!become_handler_user(options, error))
        return false;
    closefrom(first_fd);
    if (!die_with_parent(options->parent, error) || !limit_memory(options->memory, error) ||
        !limit_files(options->files, error) || !limit_core(options->core, error))
        return false;
    /* What a handler starts stays below us, whatever its parents do: see module/orphans.h. */
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        return error_set(error, ERROR_INTERNAL, "prctl(PR_SET_CHILD_SUBREAPER): %s",
                         strerror(errno));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return error_set(error, ERROR_INTERNAL, "prctl(PR_SET_NO_NEW_PRIVS): %s", strerror(errno));
    (void)signal(SIGPIPE, SIG_IGN);
    return true;
}
