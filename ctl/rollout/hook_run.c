/*
 * Driver, keeper, hook: see hook_run.h. The keeper calls only what may be called
 * between fork and exec.
 */
#include "ctl/rollout/hook_run.h"

#include "base/clock.h"
#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LOOK_MS = 1000,
    LATE_MS = 2000,
    TICK_MS = 20,
    SHOWN = 4096,
    NOT_FOUND = 127,
    BY_SIGNAL = 128
};
enum { VARIABLES = 3 };

struct pipes {
    int life[2], out[2], err[2];
};

static void close_end(int *end)
{
    if (*end >= 0)
        (void)close(*end);
    *end = -1;
}

static void close_pipes(struct pipes *pipes)
{
    for (int i = 0; i < 2; i++) {
        close_end(&pipes->life[i]);
        close_end(&pipes->out[i]);
        close_end(&pipes->err[i]);
    }
}

static bool open_pipes(struct pipes *pipes, struct error *error)
{
    *pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
    if (pipe2(pipes->life, O_CLOEXEC) == 0 && pipe2(pipes->out, O_CLOEXEC) == 0 &&
        pipe2(pipes->err, O_CLOEXEC) == 0 && fcntl(pipes->out[0], F_SETFL, O_NONBLOCK) == 0 &&
        fcntl(pipes->err[0], F_SETFL, O_NONBLOCK) == 0)
        return true;
    (void)error_set(error, ERROR_INTERNAL, "pipe: %s", strerror(errno));
    close_pipes(pipes);
    return false;
}

/* ---- The hook ---- */

static _Noreturn void be_hook(const struct hook_run *run, const struct pipes *pipes,
                              char *const *environment, pid_t keeper)
{
    sigset_t none;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(pipes->out[1], STDOUT_FILENO) < 0 || dup2(pipes->err[1], STDERR_FILENO) < 0)
        _exit(NOT_FOUND);
    /* A process that outlives the hook must not have the driver's connection. */
    (void)close_range(STDERR_FILENO + 1, ~0U, 0);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)execvpe(run->words[0], (char *const *)(uintptr_t)run->words, environment);
    dprintf(STDERR_FILENO, "%s: %s\n", run->words[0], strerror(errno));
    _exit(NOT_FOUND);
}

/* ---- The keeper ---- */

static int wait_status(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return NOT_FOUND;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : BY_SIGNAL + WTERMSIG(status);
}

/* It may still be waited for. Where there are no descriptors of processes (below valgrind),
 * this is asked again and again. */
static bool has_ended(pid_t pid)
{
    siginfo_t about = {.si_pid = 0};
    return waitid(P_PID, (id_t)pid, &about, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           about.si_pid == pid;
}

/* The group is ended before its leader is waited for: until then nobody else can
 * have its number. */
static _Noreturn void be_keeper(const struct hook_run *run, struct pipes *pipes,
                                char *const *environment)
{
    pid_t keeper = getpid();
    (void)setpgid(0, 0);
    close_end(&pipes->life[1]);
    close_end(&pipes->out[0]);
    close_end(&pipes->err[0]);
    pid_t hook = fork();
    if (hook == 0)
        be_hook(run, pipes, environment, keeper);
    if (hook < 0)
        _exit(NOT_FOUND);
    (void)setpgid(hook, hook);
    close_end(&pipes->out[1]);
    close_end(&pipes->err[1]);
    struct pollfd polls[] = {{.fd = pidfd_open(hook, 0), .events = POLLIN},
                             {.fd = pipes->life[0], .events = POLLIN}};
    /* The driver ends it at its timeout; one that is suspended cannot. */
    uint64_t until_ms = clock_steady_ms() + run->timeout_ms + LATE_MS;
    while (!has_ended(hook) && polls[1].revents == 0 && clock_steady_ms() < until_ms)
        (void)poll(polls, 2, polls[0].fd >= 0 ? LOOK_MS : TICK_MS);
    (void)kill(-hook, SIGKILL);
    _exit(wait_status(hook));
}

/* ---- The driver ---- */

static void read_some(int end, struct buf *text)
{
    char bytes[1024];
    for (;;) {
        ssize_t got = read(end, bytes, sizeof bytes);
        if (got == 0 || (got < 0 && errno != EINTR))
            return;
        if (got < 0)
            continue;
        size_t room = SHOWN - text->size;
        buf_put(text, bytes, (size_t)got < room ? (size_t)got : room);
    }
}

static void watch(struct hook_run *run, struct pipes *pipes, pid_t keeper)
{
    uint64_t begin_ms = clock_steady_ms();
    uint64_t look_ms = begin_ms + LOOK_MS;
    int end = pidfd_open(keeper, 0);
    struct pollfd polls[] = {{.fd = end, .events = POLLIN},
                             {.fd = pipes->out[0], .events = POLLIN},
                             {.fd = pipes->err[0], .events = POLLIN}};
    while (!has_ended(keeper)) {
        uint64_t now_ms = clock_steady_ms();
        if (now_ms >= look_ms) {
            look_ms = now_ms + LOOK_MS;
            run->was_ended = run->was_ended || !run->may_go_on(run->ctx);
        }
        run->timed_out = run->timed_out || now_ms - begin_ms >= run->timeout_ms;
        if (run->timed_out || run->was_ended)
            close_end(&pipes->life[1]);
        (void)poll(polls, 3, end < 0 ? TICK_MS : (int)(look_ms > now_ms ? look_ms - now_ms : 0));
        read_some(pipes->out[0], &run->out);
        read_some(pipes->err[0], &run->err);
        for (int i = 1; i < 3; i++) {
            if (polls[i].revents & (POLLHUP | POLLERR))
                polls[i].fd = -1;
        }
    }
    close_end(&pipes->life[1]);
    close_end(&end);
    run->status = wait_status(keeper);
    read_some(pipes->out[0], &run->out);
    read_some(pipes->err[0], &run->err);
    run->took_ms = clock_steady_ms() - begin_ms;
}

/* Overwritten by main, so that /proc does not show them. */
static bool is_credential(const char *variable)
{
    static const char *const wiped[] = {"PGFLOW_DATABASE=", "DATABASE_URL=", "PGPASSWORD="};
    for (size_t i = 0; i < sizeof wiped / sizeof wiped[0]; i++) {
        if (strncmp(variable, wiped[i], strlen(wiped[i])) == 0)
            return true;
    }
    return false;
}

/* The driver's own without credentials, and what the hook is to know. To be freed, with
 * nothing below it. */
static char **environment_with(char *const variables[VARIABLES])
{
    size_t count = 0;
    while (environ[count] != NULL)
        count++;
    char **all = calloc(count + VARIABLES + 1, sizeof *all);
    if (all == NULL)
        return NULL;
    for (size_t i = 0; i < VARIABLES; i++)
        all[i] = variables[i];
    size_t used = VARIABLES;
    for (size_t i = 0; i < count; i++) {
        if (!is_credential(environ[i]))
            all[used++] = environ[i];
    }
    return all;
}

static bool run_in(struct hook_run *run, char *const *environment, struct error *error)
{
    struct pipes pipes;
    if (!open_pipes(&pipes, error))
        return false;
    pid_t keeper = fork();
    if (keeper == 0)
        be_keeper(run, &pipes, environment);
    if (keeper < 0) {
        (void)error_set(error, ERROR_INTERNAL, "fork: %s", strerror(errno));
        close_pipes(&pipes);
        return false;
    }
    (void)setpgid(keeper, keeper);
    close_end(&pipes.life[0]);
    close_end(&pipes.out[1]);
    close_end(&pipes.err[1]);
    watch(run, &pipes, keeper);
    close_pipes(&pipes);
    return true;
}

bool hook_run(struct hook_run *run, struct error *error)
{
    struct buf texts[VARIABLES];
    const char *const names[VARIABLES] = {"ROLLOUT_HOOK", "ROLLOUT_FUNCTION", "ROLLOUT_DEPLOYMENT"};
    const char *const values[VARIABLES] = {run->hook, run->function, run->deployment};
    char *variables[VARIABLES];
    bool ok = true;
    buf_init(&run->out, LIMIT_MIB);
    buf_init(&run->err, LIMIT_MIB);
    for (int i = 0; i < VARIABLES; i++) {
        buf_init(&texts[i], LIMIT_MIB);
        buf_printf(&texts[i], "%s=%s", names[i], values[i]);
        ok = ok && buf_ok(&texts[i]);
        variables[i] = texts[i].data;
    }
    char **environment = ok ? environment_with(variables) : NULL;
    bool ran = environment != NULL ? run_in(run, environment, error) : error_out_of_memory(error);
    free((void *)environment);
    for (int i = 0; i < VARIABLES; i++)
        buf_free(&texts[i]);
    return ran;
}

void hook_run_free(struct hook_run *run)
{
    buf_free(&run->out);
    buf_free(&run->err);
}
