/* SPDX-License-Identifier: Apache-2.0
 * What a runner puts back: timers, signals, working folder, umask, priority. */
#include "leaks.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { IOPRIO_PROCESS = 1, IOPRIO_IDLE = 3 << 13 };

static bool leave_alarm(void)
{
    alarm(1);
    return true;
}

static bool start_interval(__itimer_which_t which)
{
    const struct itimerval soon = {.it_value = {.tv_usec = 300000}};
    return setitimer(which, &soon, NULL) == 0;
}

static bool leave_virtual_timer(void)
{
    return start_interval(ITIMER_VIRTUAL);
}

static bool leave_profiling_timer(void)
{
    return start_interval(ITIMER_PROF);
}

static bool leave_timers(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    const struct itimerspec soon = {.it_value = {.tv_nsec = 300000000}};
    timer_t timer;
    for (int i = 0; i < 100; i++)
        if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
            timer_settime(timer, 0, &soon, NULL) != 0)
            return false;
    return true;
}

static bool block(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    return sigprocmask(SIG_BLOCK, &set, NULL) == 0;
}

static bool leave_mask(void)
{
    return block(SIGUSR1);
}

/* Each would end the process if it were let through. */
static bool leave_pending(void)
{
    return block(SIGUSR2) && raise(SIGUSR2) == 0 && kill(getpid(), SIGUSR2) == 0;
}

static bool leave_pending_alarm(void)
{
    const struct itimerval at_once = {.it_value = {.tv_usec = 1}};
    sigset_t set;
    if (!block(SIGALRM) || setitimer(ITIMER_REAL, &at_once, NULL) != 0)
        return false;
    do
        sigpending(&set);
    while (sigismember(&set, SIGALRM) == 0);
    return true;
}

static bool leave_folder(void)
{
    return chdir("/") == 0;
}

static bool leave_umask(void)
{
    umask(0777);
    return true;
}

static bool leave_nice(void)
{
    return setpriority(PRIO_PROCESS, 0, 7) == 0;
}

static bool leave_scheduler(void)
{
    const struct sched_param none = {0};
    return sched_setscheduler(0, SCHED_BATCH, &none) == 0;
}

static bool leave_io_priority(void)
{
    return syscall(SYS_ioprio_set, IOPRIO_PROCESS, 0, IOPRIO_IDLE) == 0;
}

static bool leave_parent_death(void)
{
    return prctl(PR_SET_PDEATHSIG, 0) == 0 && prctl(PR_SET_CHILD_SUBREAPER, 0) == 0;
}

/* Not through libc. */
static bool leave_alarm_by_hand(void)
{
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_alarm), "D"(1L)
                     : "rcx", "r11", "memory");
    return result == 0;
#else
    return leave_alarm();
#endif
}

const struct leak leaks_put_back[] = {
    {"alarm", leave_alarm},
    {"virtual_timer", leave_virtual_timer},
    {"profiling_timer", leave_profiling_timer},
    {"timers", leave_timers},
    {"mask", leave_mask},
    {"pending", leave_pending},
    {"pending_alarm", leave_pending_alarm},
    {"folder", leave_folder},
    {"umask", leave_umask},
    {"nice", leave_nice},
    {"scheduler", leave_scheduler},
    {"io_priority", leave_io_priority},
    {"parent_death", leave_parent_death},
    {"alarm_by_hand", leave_alarm_by_hand},
    {NULL, NULL},
};
