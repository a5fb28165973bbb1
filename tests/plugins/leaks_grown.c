/* SPDX-License-Identifier: Apache-2.0
 * What a runner counts; and things that a task undoes itself, after which nothing is left. */
#include "leaks.h"

#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void on_signal(int number)
{
    (void)number;
}

static bool leave_handler(void)
{
    return signal(SIGUSR1, on_signal) != SIG_ERR;
}

static bool leave_real_time_handler(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    return sigaction(SIGRTMAX, &action, NULL) == 0;
}

static bool leave_ignored(void)
{
    return signal(SIGCHLD, SIG_IGN) != SIG_ERR;
}

/* Written to a closed pipe, the next task would die. */
static bool leave_broken_pipe(void)
{
    return signal(SIGPIPE, SIG_DFL) != SIG_ERR;
}

static void *wait_for_ever(void *argument)
{
    for (;;)
        pause();
    return argument;
}

static bool leave_thread(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, wait_for_ever, NULL) == 0;
}

static bool leave_descriptor(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0;
}

static bool leave_child(void)
{
    pid_t child = fork();
    while (child == 0)
        pause();
    return child > 0;
}

static bool leave_zombie(void)
{
    siginfo_t info;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0;
}

static bool leave_orphan(void)
{
    pid_t child = fork();
    if (child == 0) {
        if (fork() != 0)
            _exit(0);
        setsid();
        for (;;)
            pause();
    }
    return waitpid(child, NULL, 0) == child;
}

static bool leave_spawned(void)
{
    char *arguments[] = {"sleep", "600", NULL};
    pid_t child;
    return posix_spawnp(&child, "sleep", NULL, NULL, arguments, environ) == 0;
}

static bool leave_by_shell(void)
{
    return system("sleep 600 >/dev/null 2>&1 &") == 0;
}

/* ---- Nothing is left ---- */

static void *end(void *argument)
{
    return argument;
}

static bool do_join(void)
{
    pthread_t thread;
    for (int i = 0; i < 20; i++)
        if (pthread_create(&thread, NULL, end, NULL) != 0 || pthread_join(thread, NULL) != 0)
            return false;
    return true;
}

static bool do_system(void)
{
    FILE *pipe = popen("true", "r");
    return system("true") == 0 && pipe != NULL && pclose(pipe) == 0;
}

static bool do_open_and_close(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0 && close(fd) == 0;
}

/* The entry comes back at another place of the list. */
static bool do_unset_and_set(void)
{
    char *path = strdup(getenv("PATH"));
    bool ok = setenv("FOR_A_MOMENT", "1", 1) == 0 && unsetenv("PATH") == 0 &&
              setenv("PATH", path, 1) == 0 && unsetenv("FOR_A_MOMENT") == 0;
    free(path);
    return ok;
}

static bool do_handle_and_restore(void)
{
    return signal(SIGUSR1, on_signal) != SIG_ERR && signal(SIGUSR1, SIG_DFL) != SIG_ERR;
}

static bool do_arithmetic(void)
{
    volatile double one = 1;
    volatile long double three = 3;
    return one / (double)three < 1 && (one / three) < 1;
}

static bool do_print(void)
{
    return puts("a line of a task") >= 0;
}

static bool do_everything(void)
{
    return leave_handler() && leave_thread() && leave_descriptor() && leave_child();
}

const struct leak leaks_grown[] = {
    {"handler", leave_handler},
    {"real_time_handler", leave_real_time_handler},
    {"ignored", leave_ignored},
    {"broken_pipe", leave_broken_pipe},
    {"thread", leave_thread},
    {"descriptor", leave_descriptor},
    {"child", leave_child},
    {"zombie", leave_zombie},
    {"orphan", leave_orphan},
    {"spawned", leave_spawned},
    {"by_shell", leave_by_shell},
    {"as_a_runtime", do_everything},
    {"join", do_join},
    {"system", do_system},
    {"open_and_close", do_open_and_close},
    {"unset_and_set", do_unset_and_set},
    {"handle_and_restore", do_handle_and_restore},
    {"arithmetic", do_arithmetic},
    {"print", do_print},
    {"nothing", do_open_and_close},
    {NULL, NULL},
};
