/*
 * Reaps adopted processes.
 *
 * waitid(P_ALL) with WNOWAIT shows a dead child without taking it. One of
 * libuv's is left alone: libuv's own SIGCHLD watcher takes it in this turn of
 * the loop. It may hide another dead child behind it, so we look again in the
 * next turn; a child that dies later brings a SIGCHLD of its own.
 */
#include "pool/reaper.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* Not 0: libuv runs due timers until none is left, so a timer of 0 ms that starts
 * itself again would never let the loop get to its SIGCHLD watcher. */
enum { AGAIN_MS = 1 };

struct reaper {
    uv_signal_t signal;
    uv_timer_t again;
    reaper_is_ours is_ours;
    void *context;
    unsigned long count;
    int open_handles;
    void (*closed)(void *context);
    void *closed_context;
};

/* The pid of a dead child; 0: none. */
static pid_t peek(void)
{
    siginfo_t info = {.si_pid = 0};

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return 0;
    return info.si_pid;
}

static void on_again(uv_timer_t *timer);

static void reap(struct reaper *reaper)
{
    pid_t pid;

    while ((pid = peek()) != 0) {
        if (reaper->is_ours(reaper->context, pid)) {
            uv_timer_start(&reaper->again, on_again, AGAIN_MS, 0);
            return;
        }
        if (waitpid(pid, NULL, WNOHANG) == pid)
            reaper->count++;
    }
}

static void on_again(uv_timer_t *timer)
{
    reap(timer->data);
}

static void on_sigchld(uv_signal_t *handle, int number)
{
    (void)number;
    reap(handle->data);
}

struct reaper *reaper_create(uv_loop_t *loop, reaper_is_ours is_ours, void *context,
                             struct error *error)
{
    struct reaper *reaper = calloc(1, sizeof *reaper);
    int failed;

    if (reaper == NULL) {
        error_out_of_memory(error);
        return NULL;
    }
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
        error_set(error, ERROR_INTERNAL, "prctl(PR_SET_CHILD_SUBREAPER): %s", strerror(errno));
        free(reaper);
        return NULL;
    }
    failed = uv_signal_init(loop, &reaper->signal);
    if (failed != 0) {
        error_set(error, ERROR_INTERNAL, "SIGCHLD: %s", uv_strerror(failed));
        free(reaper);
        return NULL;
    }
    uv_timer_init(loop, &reaper->again);
    reaper->signal.data = reaper;
    reaper->again.data = reaper;
    reaper->is_ours = is_ours;
    reaper->context = context;
    reaper->open_handles = 2;
    uv_signal_start(&reaper->signal, on_sigchld, SIGCHLD);
    /* It must not keep the loop alive by itself. */
    uv_unref((uv_handle_t *)&reaper->signal);
    return reaper;
}

static void on_closed(uv_handle_t *handle)
{
    struct reaper *reaper = handle->data;
    void (*closed)(void *) = reaper->closed;
    void *context = reaper->closed_context;

    if (--reaper->open_handles > 0)
        return;
    free(reaper);
    if (closed != NULL)
        closed(context);
}

void reaper_close(struct reaper *reaper, void (*closed)(void *context), void *context)
{
    reaper->closed = closed;
    reaper->closed_context = context;
    /* What is dead already would stay a zombie. */
    reap(reaper);
    uv_close((uv_handle_t *)&reaper->signal, on_closed);
    uv_close((uv_handle_t *)&reaper->again, on_closed);
}

unsigned long reaper_count(const struct reaper *reaper)
{
    return reaper->count;
}
