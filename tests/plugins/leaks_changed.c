/* SPDX-License-Identifier: Apache-2.0
 * What a runner can only see: then no further task runs in the process. */
#include "leaks.h"

#include <fcntl.h>
#include <fenv.h>
#include <grp.h>
#include <linux/capability.h>
#include <locale.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool leave_setenv(void)
{
    return setenv("LEFT_BY_A_TASK", "1", 1) == 0;
}

static bool leave_unsetenv(void)
{
    return unsetenv("PATH") == 0;
}

/* The memory of an entry, not the list of them. */
static bool leave_written_env(void)
{
    char *path = getenv("PATH");
    if (path == NULL || path[0] == '\0')
        return false;
    path[0] = path[0] == 'x' ? 'y' : 'x';
    return true;
}

static bool leave_clearenv(void)
{
    return clearenv() == 0;
}

static bool leave_locale(void)
{
    return setlocale(LC_NUMERIC, "C.UTF-8") != NULL || setlocale(LC_CTYPE, "C.utf8") != NULL;
}

static bool leave_thread_locale(void)
{
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0)) != (locale_t)0;
}

static bool leave_rounding(void)
{
    return fesetround(FE_DOWNWARD) == 0;
}

static bool leave_traps(void)
{
    return feenableexcept(FE_DIVBYZERO) != -1;
}

static bool leave_flush_to_zero(void)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
    return true;
#else
    return leave_rounding();
#endif
}

static bool leave_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    limit.rlim_cur--;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static bool leave_stack_limit(void)
{
    struct rlimit limit = {.rlim_cur = 4096 * 1024, .rlim_max = RLIM_INFINITY};
    struct rlimit old;
    if (prlimit(0, RLIMIT_STACK, NULL, &old) != 0)
        return false;
    limit.rlim_max = old.rlim_max;
    return prlimit(0, RLIMIT_STACK, &limit, NULL) == 0;
}

static bool leave_user(void)
{
    return setresuid(12345, 12345, 0) == 0;
}

static bool leave_group(void)
{
    return setegid(12345) == 0;
}

static bool leave_groups(void)
{
    const gid_t groups[] = {12345, 12346};
    return setgroups(2, groups) == 0;
}

static bool leave_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &header, data) != 0)
        return false;
    data[0].effective &= ~(1u << CAP_CHOWN);
    return syscall(SYS_capset, &header, data) == 0;
}

static bool leave_namespace(void)
{
    return unshare(CLONE_NEWUTS) == 0;
}

static bool leave_network(void)
{
    return unshare(CLONE_NEWNET) == 0;
}

/* Alone of them any user may do it. */
static bool leave_user_namespace(void)
{
    return unshare(CLONE_NEWUSER) == 0;
}

static bool leave_affinity(void)
{
    cpu_set_t set;
    size_t first = 0;
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2)
        return false;
    while (!CPU_ISSET(first, &set))
        first++;
    CPU_CLR(first, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

static bool leave_nonblocking(void)
{
    return fcntl(STDERR_FILENO, F_SETFL, fcntl(STDERR_FILENO, F_GETFL) | O_NONBLOCK) == 0;
}

static bool leave_cloexec(void)
{
    return fcntl(STDIN_FILENO, F_SETFD, FD_CLOEXEC) == 0;
}

static bool leave_redirected(void)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    bool ok = null >= 0 && dup2(null, STDOUT_FILENO) == STDOUT_FILENO;
    return close(null) == 0 && ok;
}

static bool leave_closed(void)
{
    return close(STDIN_FILENO) == 0;
}

const struct leak leaks_changed[] = {
    {"setenv", leave_setenv},
    {"unsetenv", leave_unsetenv},
    {"written_env", leave_written_env},
    {"clearenv", leave_clearenv},
    {"locale", leave_locale},
    {"thread_locale", leave_thread_locale},
    {"rounding", leave_rounding},
    {"traps", leave_traps},
    {"flush_to_zero", leave_flush_to_zero},
    {"limit", leave_limit},
    {"stack_limit", leave_stack_limit},
    {"user", leave_user},
    {"group", leave_group},
    {"groups", leave_groups},
    {"capabilities", leave_capabilities},
    {"namespace", leave_namespace},
    {"network", leave_network},
    {"user_namespace", leave_user_namespace},
    {"affinity", leave_affinity},
    {"nonblocking", leave_nonblocking},
    {"cloexec", leave_cloexec},
    {"redirected", leave_redirected},
    {"closed", leave_closed},
    {NULL, NULL},
};
