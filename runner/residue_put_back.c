/*
 * What the runner puts back itself: timers, signals, working folder, umask, priority.
 */
#include "runner/residue_parts.h"

#include "wire/residue.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/* POSIX timers that `init` may have; if it has more, none is deleted. */
enum { TIMERS = 64, TIMER_FILE = 16 * 1024 };

static const int intervals[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
enum { INTERVALS = sizeof intervals / sizeof intervals[0] };

static struct {
    bool interval_armed[INTERVALS];
    int timers_fd;
    int timers[TIMERS];
    int timer_count; /* -1: unknown */
    sigset_t mask;
    mode_t umask;
    int folder; /* -1: unknown */
    dev_t folder_device;
    ino_t folder_inode;
    char folder_path[PATH_MAX]; /* "" for none */
    int nice, policy, io;
    struct sched_param parameters;
    int death_signal;
} before;

/* ---- Timers ---- */

/* Numbers of the kernel, from lines of "ID: 3", as many as fit. -1: cannot be read. */
static int list_timers(int *list)
{
    static char text[TIMER_FILE];
    ssize_t size = before.timers_fd < 0 ? -1 : pread(before.timers_fd, text, sizeof text - 1, 0);
    int count = 0;

    if (size < 0)
        return -1;
    text[size] = '\0';
    for (const char *line = text; count < TIMERS && (line = strstr(line, "ID: ")) != NULL; line++)
        list[count++] = (int)strtol(line + strlen("ID: "), NULL, 10);
    return count;
}

static bool was_there(int timer)
{
    for (int i = 0; i < before.timer_count; i++)
        if (before.timers[i] == timer)
            return true;
    return false;
}

/* Not by timer_delete(3): what a timer_t is, is libc's own. */
static bool delete_timers(void)
{
    int now[TIMERS];
    int count = before.timer_count < 0 ? 0 : list_timers(now);
    bool deleted = false;

    for (int i = 0; i < count; i++)
        if (!was_there(now[i]))
            deleted = syscall(SYS_timer_delete, now[i]) == 0 || deleted;
    return deleted;
}

void put_back_timers(void)
{
    static const struct itimerval none;

    for (size_t i = 0; i < INTERVALS; i++)
        if (!before.interval_armed[i])
            setitimer((__itimer_which_t)intervals[i], &none, NULL);
    /* As many again as were read, when a task made more than fit. */
    while (delete_timers())
        continue;
}

static void note_timers(void)
{
    struct itimerval now;

    for (size_t i = 0; i < INTERVALS; i++)
        before.interval_armed[i] = getitimer((__itimer_which_t)intervals[i], &now) == 0 &&
                                   (now.it_value.tv_sec != 0 || now.it_value.tv_usec != 0);
    before.timers_fd = open("/proc/self/timers", O_RDONLY | O_CLOEXEC);
    before.timer_count = list_timers(before.timers);
    if (before.timer_count == TIMERS)
        before.timer_count = -1;
}

/* ---- Signals ---- */

/* Those that only the task had blocked; what `init` blocks may be for a signalfd of its. */
static void drop_pending(void)
{
    static const struct timespec at_once;
    sigset_t others;

    sigfillset(&others);
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&before.mask, number) == 1)
            sigdelset(&others, number);
    while (sigtimedwait(&others, NULL, &at_once) > 0 || errno == EINTR)
        continue;
}

static uint32_t put_back_signals(void)
{
    sigset_t now;

    memset(&now, 0, sizeof now); /* the kernel fills the beginning alone */
    if (pthread_sigmask(SIG_SETMASK, NULL, &now) != 0)
        return RESIDUE_SIGNALS;
    if (memcmp(&now, &before.mask, sizeof now) == 0)
        return 0;
    drop_pending();
    return pthread_sigmask(SIG_SETMASK, &before.mask, NULL) == 0 ? 0 : RESIDUE_SIGNALS;
}

/* ---- Working folder ---- */

static bool stat_folder(struct stat *about)
{
    return fstatat(AT_FDCWD, "", about, AT_EMPTY_PATH) == 0;
}

/* The path says it with one short call, unless somebody renamed a folder in it. */
static uint32_t put_back_folder(void)
{
    static char path[PATH_MAX];
    struct stat about;

    if (before.folder_path[0] != '\0' && syscall(SYS_getcwd, path, sizeof path) > 0 &&
        strcmp(path, before.folder_path) == 0)
        return 0;
    if (before.folder < 0 || (stat_folder(&about) && about.st_dev == before.folder_device &&
                              about.st_ino == before.folder_inode))
        return 0;
    return fchdir(before.folder) == 0 ? 0 : RESIDUE_FOLDER;
}

static void note_folder(void)
{
    struct stat about = {0};

    before.folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (syscall(SYS_getcwd, before.folder_path, sizeof before.folder_path) < 0)
        before.folder_path[0] = '\0';
    if (stat_folder(&about)) {
        before.folder_device = about.st_dev;
        before.folder_inode = about.st_ino;
    }
}

/* ---- Priority ---- */

/* glibc knows neither constant nor function. */
enum { IOPRIO_PROCESS = 1 };

static int io_priority(void)
{
    return (int)syscall(SYS_ioprio_get, IOPRIO_PROCESS, 0);
}

static uint32_t put_back_priority(void)
{
    struct sched_param now = {0};
    bool ok = true;

    if (sched_getscheduler(0) != before.policy || sched_getparam(0, &now) != 0 ||
        now.sched_priority != before.parameters.sched_priority)
        ok = sched_setscheduler(0, before.policy, &before.parameters) == 0;
    if (getpriority(PRIO_PROCESS, 0) != before.nice)
        ok = setpriority(PRIO_PROCESS, 0, before.nice) == 0 && ok;
    if (io_priority() != before.io)
        ok = syscall(SYS_ioprio_set, IOPRIO_PROCESS, 0, before.io) == 0 && ok;
    return ok ? 0 : RESIDUE_PRIORITY;
}

static void note_priority(void)
{
    before.policy = sched_getscheduler(0);
    sched_getparam(0, &before.parameters);
    before.nice = getpriority(PRIO_PROCESS, 0);
    before.io = io_priority();
}

/* ---- All ---- */

void put_back_note(void)
{
    note_timers();
    (void)pthread_sigmask(SIG_SETMASK, NULL, &before.mask);
    before.umask = umask(0);
    umask(before.umask);
    note_folder();
    note_priority();
    (void)prctl(PR_GET_PDEATHSIG, &before.death_signal, 0, 0, 0);
}

uint32_t put_back_quick(void)
{
    umask(before.umask);
    return put_back_signals() | put_back_folder();
}

uint32_t put_back_deep(void)
{
    /* These two are the host's, which wants nothing of ours to outlive it. */
    (void)prctl(PR_SET_PDEATHSIG, before.death_signal, 0, 0, 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    return put_back_priority();
}
