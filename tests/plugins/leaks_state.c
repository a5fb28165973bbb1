/* SPDX-License-Identifier: Apache-2.0
 * The state of a process, as a task finds it. */
#include "leaks.h"

#include <fcntl.h>
#include <fenv.h>
#include <grp.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

extern char **environ;

enum { IOPRIO_PROCESS = 1 };

static unsigned long set_of(int (*fill)(sigset_t *))
{
    sigset_t set;
    unsigned long bits = 0;
    sigemptyset(&set);
    if (fill(&set) != 0)
        return ~0ul;
    for (int number = 1; number < 64; number++)
        bits |= (unsigned long)sigismember(&set, number) << number;
    return bits;
}

static int fill_blocked(sigset_t *set)
{
    return sigprocmask(SIG_SETMASK, NULL, set);
}

static int fill_handled(sigset_t *set)
{
    struct sigaction action;
    for (int number = 1; number < 64; number++)
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
            sigaddset(set, number);
    return 0;
}

static bool put_timers(const pgf_call *call)
{
    static const __itimer_which_t all[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
    struct itimerval now;
    char line[256];
    int timers = 0;
    for (size_t i = 0; i < 3; i++)
        if (getitimer(all[i], &now) == 0 && (now.it_value.tv_sec != 0 || now.it_value.tv_usec != 0))
            timers++;
    FILE *file = fopen("/proc/self/timers", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        timers += strncmp(line, "ID:", 3) == 0;
    if (file != NULL)
        (void)fclose(file);
    return put_format(call, "\"timers\": %d", timers);
}

static bool put_signals(const pgf_call *call)
{
    return put_format(call, ", \"blocked\": \"%lx\", \"pending\": \"%lx\", \"handled\": \"%lx\"",
                      set_of(fill_blocked), set_of(sigpending), set_of(fill_handled));
}

static bool put_folder_and_priority(const pgf_call *call)
{
    char folder[1024] = "";
    mode_t mask = umask(0);
    int death = 0;
    int reaper = 0;
    umask(mask);
    (void)prctl(PR_GET_PDEATHSIG, &death);
    (void)prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    return getcwd(folder, sizeof folder) != NULL &&
           put_format(call,
                      ", \"folder\": \"%s\", \"umask\": %u, \"nice\": %d, \"policy\": %d, "
                      "\"io\": %ld, \"parent_death\": [%d, %d]",
                      folder, (unsigned)mask, getpriority(PRIO_PROCESS, 0), sched_getscheduler(0),
                      syscall(SYS_ioprio_get, IOPRIO_PROCESS, 0), death, reaper);
}

static int compare(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static bool put_memory(const pgf_call *call)
{
    char *sorted[256];
    size_t count = 0;
    bool ok = put(call, ", \"env\": [");
    while (environ != NULL && count < 256 && environ[count] != NULL) {
        sorted[count] = environ[count];
        count++;
    }
    qsort(sorted, count, sizeof sorted[0], compare);
    for (size_t i = 0; i < count && ok; i++)
        ok = put_format(call, "%s\"%s\"", i == 0 ? "" : ", ", sorted[i]);
    return ok &&
           put_format(call,
                      "], \"locale\": \"%s\", \"thread_locale\": %s, \"rounding\": %d, "
                      "\"traps\": %d, \"flags\": %d",
                      setlocale(LC_ALL, NULL),
                      uselocale((locale_t)0) == LC_GLOBAL_LOCALE ? "false" : "true", fegetround(),
                      fegetexcept(), fetestexcept(FE_ALL_EXCEPT)) &&
#if defined(__x86_64__)
           put_format(call, ", \"sse\": %u", __builtin_ia32_stmxcsr() & ~0x3fu);
#else
           true;
#endif
}

static bool put_limits(const pgf_call *call)
{
    bool ok = put(call, ", \"limits\": [");
    for (int i = 0; i < (int)RLIM_NLIMITS && ok; i++) {
        struct rlimit limit = {0};
        getrlimit((__rlimit_resource_t)i, &limit);
        ok = put_format(call, "%s\"%llx/%llx\"", i == 0 ? "" : ", ",
                        (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
    }
    return ok && put(call, "]");
}

static bool put_credentials(const pgf_call *call)
{
    char name[32] = "";
    char line[256];
    uid_t user[3];
    gid_t group[3];
    getresuid(&user[0], &user[1], &user[2]);
    getresgid(&group[0], &group[1], &group[2]);
    FILE *status = fopen("/proc/self/status", "re");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "CapEff: %31s", name) == 1)
            break;
    if (status != NULL)
        (void)fclose(status);
    return put_format(call, ", \"ids\": [%u, %u, %u, %u, %u, %u, %d], \"capabilities\": \"%s\"",
                      user[0], user[1], user[2], group[0], group[1], group[2], getgroups(0, NULL),
                      name);
}

static bool put_namespaces(const pgf_call *call)
{
    static const char *const names[] = {"net", "user", "uts"};
    for (size_t i = 0; i < 3; i++) {
        char path[64];
        char link[64] = "";
        (void)snprintf(path, sizeof path, "/proc/thread-self/ns/%s", names[i]);
        (void)!readlink(path, link, sizeof link - 1);
        if (!put_format(call, ", \"%s\": \"%s\"", names[i], link))
            return false;
    }
    return true;
}

static bool put_affinity(const pgf_call *call)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return put_format(call, ", \"cpus\": %d", CPU_COUNT(&set));
}

static bool put_descriptors(const pgf_call *call)
{
    bool ok = put(call, ", \"descriptors\": [");
    for (int fd = 0; fd <= 3 && ok; fd++) {
        struct stat about;
        memset(&about, 0, sizeof about);
        fstat(fd, &about);
        ok = put_format(call, "%s[%d, %d, \"%o\"]", fd == 0 ? "" : ", ", fcntl(fd, F_GETFL),
                        fcntl(fd, F_GETFD), about.st_mode & S_IFMT);
    }
    return ok && put(call, "]");
}

bool put_state(const pgf_call *call)
{
    return put(call, "{\"state\": {") && put_timers(call) && put_signals(call) &&
           put_folder_and_priority(call) && put_memory(call) && put_limits(call) &&
           put_credentials(call) && put_namespaces(call) && put_affinity(call) &&
           put_descriptors(call) && put_format(call, "}, \"pid\": %d}", (int)getpid());
}
