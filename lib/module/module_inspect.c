/*
 * The throw-away runner that maps a module and prints its descriptor. It is
 * waited for, at most 10 s: this happens before the loop runs. stdout carries
 * the answer, stderr whatever the module's constructors say.
 */
#include "module/module_inspect.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "module/module_parts.h"
#include "module/orphans.h"
#include "module/runner_command.h"
#include "module/sealed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_INSPECT_MS = 10000, READ_AT_ONCE = 64 * 1024, WORDS_SHOWN = 512 };

struct inspection {
    const struct module_inspect_request *request;
    pid_t pid;
    int pid_fd; /* -1: the kernel has none; the end of stdout tells then */
    int out, err;
    struct buf answer; /* stdout */
    struct buf words;  /* stderr */
    int status;
    bool timed_out, stopped;
};

static void close_end(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/* Reads what is there. Closes the descriptor at its end. */
static void drain(int *fd, struct buf *into)
{
    while (*fd >= 0) {
        char *room = buf_reserve(into, READ_AT_ONCE);
        ssize_t got;

        if (room == NULL) {
            /* More than any descriptor: forget it, and let the size be judged later. */
            close_end(fd);
            return;
        }
        got = read(*fd, room, READ_AT_ONCE);
        if (got > 0)
            buf_commit(into, (size_t)got);
        else if (got == 0 || (errno != EINTR && errno != EAGAIN))
            close_end(fd);
        else if (errno == EAGAIN)
            return;
    }
}

static bool is_over(const struct inspection *inspection, const struct pollfd *polls)
{
    return inspection->pid_fd >= 0 ? polls[2].revents != 0 : inspection->out < 0;
}

static bool is_stopped(const struct inspection *inspection, const struct pollfd *polls)
{
    const struct module_stop *stop = &inspection->request->stop;

    return polls[3].revents != 0 && stop->is_wanted != NULL && stop->is_wanted(stop->context);
}

/* Until it is dead, its time is up, or nobody wants its answer. */
static void follow(struct inspection *inspection)
{
    uint64_t end = clock_steady_ms() + LIMIT_INSPECT_MS;
    const struct module_stop *stop = &inspection->request->stop;
    bool over = false;

    while (!over && !inspection->stopped) {
        struct pollfd polls[] = {{inspection->out, POLLIN, 0},
                                 {inspection->err, POLLIN, 0},
                                 {inspection->pid_fd, POLLIN, 0},
                                 {stop->is_wanted != NULL ? stop->fd : -1, POLLIN, 0}};
        uint64_t now = clock_steady_ms();

        if (now >= end)
            break;
        if (poll(polls, 4, (int)(end - now)) < 0) {
            if (errno != EINTR)
                break;
            continue;
        }
        drain(&inspection->out, &inspection->answer);
        drain(&inspection->err, &inspection->words);
        over = is_over(inspection, polls);
        inspection->stopped = is_stopped(inspection, polls);
    }
    inspection->timed_out = !over;
    (void)kill(-inspection->pid, SIGKILL);
    while (waitpid(inspection->pid, &inspection->status, 0) < 0 && errno == EINTR)
        continue;
    drain(&inspection->out, &inspection->answer);
    drain(&inspection->err, &inspection->words);
}

/* The numbers that the child gets are below those of all that is here. */
static void give_descriptors(posix_spawn_file_actions_t *actions,
                             const struct module_inspect_request *request, int out, int err)
{
    posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(actions, err, STDERR_FILENO);
    for (size_t i = 0; i < request->count; i++) {
        sealed_file_let_read(request->parts[i].fd);
        posix_spawn_file_actions_adddup2(actions, request->parts[i].fd, RUNNER_FD_PARTS + (int)i);
    }
}

static int spawn(struct inspection *inspection, const struct runner_command *command,
                 char **environment, int out, int err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    int failed;

    sigemptyset(&none);
    sigfillset(&defaults);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    give_descriptors(&actions, inspection->request, out, err);
    failed = posix_spawn(&inspection->pid, command->program, &actions, &attributes,
                         (char **)(uintptr_t)command->arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static void close_both(int ends[2])
{
    close_end(&ends[0]);
    close_end(&ends[1]);
}

/* Above the numbers that the child's standard descriptors take. */
static bool open_pipe(int ends[2], struct error *error)
{
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
        return error_set(error, ERROR_INTERNAL, "pipe: %s", strerror(errno));
    return true;
}

static bool start(struct inspection *inspection, const struct runner_command *command,
                  struct error *error)
{
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    char **environment = runner_environment(inspection->request->pass_env);
    int failed = ENOMEM;

    if (environment == NULL || command->failed)
        (void)error_out_of_memory(error);
    else if (open_pipe(out, error) && open_pipe(err, error)) {
        failed = spawn(inspection, command, environment, out[1], err[1]);
        if (failed != 0)
            (void)error_set(error, ERROR_INTERNAL, "cannot start pgflow-runner: %s",
                            strerror(failed));
    }
    free(environment);
    if (failed != 0) {
        close_both(out);
        close_both(err);
        return false;
    }
    close_end(&out[1]);
    close_end(&err[1]);
    inspection->out = out[0];
    inspection->err = err[0];
    inspection->pid_fd = pidfd_open(inspection->pid, 0);
    return true;
}

/* The end of what the module printed, in one line behind `text`. */
static bool refuse_with_words(const struct inspection *inspection, struct error *error,
                              const char *text)
{
    char words[WORDS_SHOWN];
    size_t size = inspection->words.size;
    size_t shown = size < sizeof words - 1 ? size : sizeof words - 1;

    shown = text_clean(words, sizeof words, inspection->words.data + size - shown, shown);
    while (shown > 0 && words[shown - 1] == '\n')
        words[--shown] = '\0';
    return error_set(error, ERROR_CONFIG, "%s%s%s", text, shown > 0 ? "; it printed: " : "", words);
}

static bool refuse_unread(const struct inspection *inspection, struct error *error)
{
    if (inspection->answer.size < LIMIT_DESCRIPTOR_JSON)
        return error_out_of_memory(error);
    return error_set(error, ERROR_CONFIG, "printed more than any descriptor while it was loaded");
}

/* The runner's own answer to options that it does not know; nothing was loaded yet. */
static bool is_foreign_runner(const struct inspection *inspection)
{
    return WEXITSTATUS(inspection->status) == ERROR_USAGE && inspection->answer.size == 0 &&
           strstr(inspection->words.data, "usage: pgflow-runner") != NULL;
}

static bool judge(const struct inspection *inspection, struct error *error)
{
    char text[128];
    int status = inspection->status;
    bool answered = inspection->answer.size > 0;

    if (inspection->stopped)
        return error_set(error, ERROR_UNAVAILABLE, "the program was told to end");
    if (!buf_ok(&inspection->answer))
        return refuse_unread(inspection, error);
    if (inspection->timed_out)
        return refuse_with_words(inspection, error, "was not loaded within 10 s");
    if (WIFSIGNALED(status)) {
        snprintf(text, sizeof text, "crashed while it was loaded (%s, in a constructor?)",
                 signal_name(WTERMSIG(status)));
        return refuse_with_words(inspection, error, text);
    }
    if (answered && WEXITSTATUS(status) == 0)
        return true;
    /* Any other status is not the runner's. */
    if (answered && (WEXITSTATUS(status) == ERROR_CONFIG || WEXITSTATUS(status) == ERROR_INTERNAL))
        return error_set(error, WEXITSTATUS(status), "%.*s", (int)inspection->answer.size,
                         inspection->answer.data);
    if (is_foreign_runner(inspection))
        return error_set(error, ERROR_CONFIG,
                         "the pgflow-runner that was found is of another release and does not know "
                         "what this program asks of it; install both from one release");
    snprintf(text, sizeof text, "exited with status %d while it was loaded (in a constructor?)",
             WEXITSTATUS(status));
    return refuse_with_words(inspection, error, text);
}

char *module_inspect_parts(const struct module_inspect_request *request, size_t *size,
                           struct error *error)
{
    struct inspection inspection = {.request = request, .pid_fd = -1, .out = -1, .err = -1};
    struct runner_command command;
    struct orphans orphans;
    char *answer = NULL;

    if (!orphans_watch(&orphans, 0)) {
        (void)error_set(error, ERROR_INTERNAL, "cannot adopt orphans: %s", strerror(errno));
        return NULL;
    }
    buf_init(&inspection.answer, LIMIT_DESCRIPTOR_JSON + READ_AT_ONCE);
    buf_init(&inspection.words, LIMIT_MIB);
    runner_command_init(&command, request->runner_program);
    runner_command_add_parts(&command, "--inspect", request->parts, request->count);
    runner_command_add(&command, "--sealed");
    runner_command_add_common(&command, request->uid, request->gid);
    if (start(&inspection, &command, error)) {
        follow(&inspection);
        orphans_end(&orphans);
        if (judge(&inspection, error))
            answer = buf_detach(&inspection.answer, size);
    }
    orphans_finish(&orphans);
    runner_command_finish(&command);
    close_end(&inspection.out);
    close_end(&inspection.err);
    close_end(&inspection.pid_fd);
    buf_free(&inspection.answer);
    buf_free(&inspection.words);
    return answer;
}

static char *inspect_source(int runner_program, struct module_source *source, size_t *size,
                            struct error *error)
{
    struct module_parts parts = {.count = 0};
    struct module_inspect_request request = {
        .runner_program = runner_program, .parts = parts.items, .uid = (uid_t)-1, .gid = (gid_t)-1};
    char *answer = NULL;

    if (module_parts_take(&parts, source, error)) {
        request.count = parts.count;
        answer = module_inspect_parts(&request, size, error);
    }
    module_parts_free(&parts);
    return answer;
}

/* A bare name is not searched in library folders. */
char *module_inspect(int runner_program, const char *path, bool check_owner, size_t *size,
                     struct error *error)
{
    struct module_source *source = calloc(1, sizeof *source);
    char *answer = NULL;

    if (source == NULL)
        (void)error_out_of_memory(error);
    else if (module_source_read(source, path, check_owner, error))
        answer = inspect_source(runner_program, source, size, error);
    if (answer == NULL)
        error_wrap(error, "%s", path);
    if (source != NULL)
        module_source_close(source);
    free(source);
    return answer;
}
