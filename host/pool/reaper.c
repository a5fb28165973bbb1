/*
 * Ends and reaps adopted processes.
 *
 * waitid(P_ALL) with WNOWAIT shows a dead child without taking it. One of
 * libuv's is left alone: libuv's own SIGCHLD watcher takes it in this turn of
 * the loop. It may hide another dead child behind it, so we look again in the
 * next turn; a child that dies later brings a SIGCHLD of its own.
 */
#include "pool/reaper.h"

#include "module/orphans.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Not 0: libuv runs due timers until none is left, so a timer of 0 ms that starts
 * itself again would never let the loop get to its SIGCHLD watcher. */
enum { AGAIN_MS = 1, CLOSE_WITHIN_MS = 1000 };

struct reaper {
    uv_signal_t signal;
    uv_timer_t again;
    reaper_is_ours is_ours;
    void *context;
    struct orphans orphans;
    uint64_t close_by_ms; /* 0: not closing */
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

static void look_again(struct reaper *reaper)
{
    (void)uv_timer_start(&reaper->again, on_again, AGAIN_MS, 0);
}

static void reap(struct reaper *reaper)
{
    bool adopted = false;
    pid_t pid;

    while ((pid = peek()) != 0) {
        if (reaper->is_ours(reaper->context, pid)) {
            look_again(reaper);
            break;
        }
        if (waitpid(pid, NULL, WNOHANG) != pid)
            continue;
        orphans_forget(&reaper->orphans, pid);
        adopted = true;
    }
    /* Its children are ours now. */
    if (adopted)
        reaper_sweep(reaper);
}

void reaper_sweep(struct reaper *reaper)
{
    (void)orphans_kill(&reaper->orphans, reaper->is_ours, reaper->context);
}

static void on_closed(uv_handle_t *handle)
{
    struct reaper *reaper = handle->data;
    void (*closed)(void *) = reaper->closed;
    void *context = reaper->closed_context;

    if (--reaper->open_handles > 0)
        return;
    orphans_finish(&reaper->orphans);
    free(reaper);
    if (closed != NULL)
        closed(context);
}

/* What was killed is dying; until it is dead it may yet leave us a child. */
static void continue_close(struct reaper *reaper)
{
    size_t left = orphans_kill(&reaper->orphans, reaper->is_ours, reaper->context);

    if (left > 0 && uv_now(reaper->again.loop) < reaper->close_by_ms) {
        look_again(reaper);
        return;
    }
    uv_close((uv_handle_t *)&reaper->signal, on_closed);
    uv_close((uv_handle_t *)&reaper->again, on_closed);
}

static void on_again(uv_timer_t *timer)
{
    struct reaper *reaper = timer->data;

    reap(reaper);
    if (reaper->close_by_ms != 0)
        continue_close(reaper);
}

static void on_sigchld(uv_signal_t *handle, int number)
{
    (void)number;
    reap(handle->data);
}

static struct reaper *discard(struct reaper *reaper)
{
    orphans_finish(&reaper->orphans);
    free(reaper);
    return NULL;
}

struct reaper *reaper_create(uv_loop_t *loop, reaper_is_ours is_ours, void *context, size_t memory,
                             struct error *error)
{
    struct reaper *reaper = calloc(1, sizeof *reaper);
    int failed;

    if (reaper == NULL) {
        (void)error_out_of_memory(error);
        return NULL;
    }
    if (!orphans_watch(&reaper->orphans, memory)) {
        (void)error_set(error, ERROR_INTERNAL, "cannot adopt orphans: %s", strerror(errno));
        return discard(reaper);
    }
    failed = uv_signal_init(loop, &reaper->signal);
    if (failed != 0) {
        (void)error_set(error, ERROR_INTERNAL, "SIGCHLD: %s", uv_strerror(failed));
        return discard(reaper);
    }
    (void)uv_timer_init(loop, &reaper->again);
    reaper->signal.data = reaper;
    reaper->again.data = reaper;
    reaper->is_ours = is_ours;
    reaper->context = context;
    reaper->open_handles = 2;
    (void)uv_signal_start(&reaper->signal, on_sigchld, SIGCHLD);
    /* It must not keep the loop alive by itself. */
    uv_unref((uv_handle_t *)&reaper->signal);
    return reaper;
}

void reaper_close(struct reaper *reaper, void (*closed)(void *context), void *context)
{
    reaper->closed = closed;
    reaper->closed_context = context;
    reaper->close_by_ms = uv_now(reaper->again.loop) + CLOSE_WITHIN_MS;
    /* What is dead already would stay a zombie. */
    reap(reaper);
    continue_close(reaper);
}
