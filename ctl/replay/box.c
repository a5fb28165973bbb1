#include "ctl/replay/box.h"

#include "ctl/replay/box_walls.h"
#include "module/module_file.h"
#include "wire/runner_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READ_SIZE = 256 * 1024 };
#define MOST_QUEUED ((size_t)4 << 30)

/* ---- In the box ---- */

static void send_all(int fd, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return;
        at += sent;
        size -= (size_t)sent;
    }
}

static _Noreturn void give_up(int fd, const struct error *error)
{
    struct box_answer answer = {
        .kind = BOX_FAILED, .code = (uint32_t)error->code, .size = strlen(error->text)};
    send_all(fd, &answer, sizeof answer);
    send_all(fd, error->text, answer.size);
    _exit(1);
}

/* PATH, language and time zone are a runner's; everything else goes, its bytes too. */
static void wipe_environment(char *secret)
{
    static const char *const kept[] = {"PATH=", "LANG=", "LC_ALL=", "TZ="};
    size_t count = 0;
    for (char **entry = environ; *entry != NULL; entry++) {
        bool keeps = false;
        for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
            keeps = keeps || strncmp(*entry, kept[i], strlen(kept[i])) == 0;
        if (keeps)
            environ[count++] = *entry;
        else
            explicit_bzero(*entry, strlen(*entry));
    }
    environ[count] = NULL;
    if (secret != NULL)
        explicit_bzero(secret, strlen(secret));
}

static void close_descriptors(int fd, int program)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i <= STDERR_FILENO && nothing >= 0; i++)
        (void)dup2(nothing, i);
    for (long i = STDERR_FILENO + 1, most = sysconf(_SC_OPEN_MAX); i < most && i < 65536; i++)
        if (i != fd && i != program)
            (void)close((int)i);
}

static _Noreturn void live_in_box(int fd, const struct box_config *config, char *const *paths,
                                  int program)
{
    struct error error = {.code = ERROR_NONE};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (!config->unconfined && !box_walls_close(paths, config->count, &error)) {
        (void)error_wrap(&error, "no box can be made here; --unconfined runs the handlers without");
        give_up(fd, &error);
    }
    if (!box_serve(fd, config, program, &error))
        give_up(fd, &error);
    _exit(0);
}

static _Noreturn void become_box(int fd, const struct box_config *config)
{
    struct error error = {.code = ERROR_NONE};
    char *paths[BOX_MODULES] = {NULL};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    for (size_t i = 0; i < config->count; i++) {
        paths[i] = realpath(config->modules[i], NULL);
        if (paths[i] == NULL) {
            (void)error_set(&error, ERROR_CONFIG, "cannot open '%s': %s", config->modules[i],
                            strerror(errno));
            give_up(fd, &error);
        }
    }
    int program = runner_program_open(NULL, &error);
    if (program < 0)
        give_up(fd, &error);
    close_descriptors(fd, program);
    wipe_environment(config->secret);
    struct box_config inside = *config;
    for (size_t i = 0; i < config->count; i++)
        inside.modules[i] = paths[i];
    if (!config->unconfined && !box_walls_leave(&error)) {
        (void)error_wrap(&error, "no box can be made here; --unconfined runs the handlers without");
        give_up(fd, &error);
    }
    pid_t inner = fork();
    if (inner == 0)
        live_in_box(fd, &inside, paths, program);
    (void)close(fd);
    if (inner > 0)
        (void)waitpid(inner, NULL, 0);
    _exit(0);
}

/* ---- The parent's end ---- */

bool box_open(struct box *box, const struct box_config *config, struct error *error)
{
    int ends[2];
    *box = (struct box){.fd = -1, .pid = -1};
    buf_init(&box->in, MOST_QUEUED);
    buf_init(&box->out, MOST_QUEUED);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return error_set(error, ERROR_INTERNAL, "socketpair: %s", strerror(errno));
    (void)fflush(NULL);
    box->pid = fork();
    if (box->pid == 0) {
        int high = fcntl(ends[1], F_DUPFD_CLOEXEC, RUNNER_FD_ABOVE_ALL);
        become_box(high >= 0 ? high : ends[1], config);
    }
    (void)close(ends[1]);
    box->fd = ends[0];
    (void)fcntl(box->fd, F_SETFL, O_NONBLOCK);
    return box->pid > 0 || error_set(error, ERROR_INTERNAL, "fork: %s", strerror(errno));
}

void box_close(struct box *box)
{
    if (box->fd >= 0)
        (void)close(box->fd);
    if (box->pid > 0)
        (void)waitpid(box->pid, NULL, 0);
    buf_free(&box->in);
    buf_free(&box->out);
    *box = (struct box){.fd = -1, .pid = -1};
}

void box_send(struct box *box, const struct box_task *task, const char *input,
              const char *flow_input)
{
    buf_put(&box->out, task, sizeof *task);
    buf_put(&box->out, input, task->input_size);
    if (task->has_flow_input)
        buf_put(&box->out, flow_input, task->flow_input_size);
}

static bool send_queued(struct box *box)
{
    while (box->sent < box->out.size) {
        ssize_t sent =
            send(box->fd, box->out.data + box->sent, box->out.size - box->sent, MSG_NOSIGNAL);
        if (sent < 0)
            return errno == EAGAIN || errno == EINTR;
        box->sent += (size_t)sent;
    }
    buf_clear(&box->out);
    box->sent = 0;
    return true;
}

static bool receive(struct box *box)
{
    for (;;) {
        char *room = buf_reserve(&box->in, READ_SIZE);
        if (room == NULL)
            return false;
        ssize_t size = recv(box->fd, room, READ_SIZE, 0);
        if (size < 0)
            return errno == EAGAIN || errno == EINTR;
        if (size == 0)
            return false;
        buf_commit(&box->in, (size_t)size);
        if (size < READ_SIZE)
            return true;
    }
}

/* What the box said last, when it is gone. */
static bool tell_end(struct box *box, struct error *error)
{
    struct box_answer answer;
    const char *text;
    while (box_next(box, &answer, &text))
        if (answer.kind == BOX_FAILED)
            return error_set(error, (int)answer.code, "%.*s", (int)answer.size, text);
    return error_set(error, ERROR_INTERNAL, "the process that runs the handlers ended");
}

bool box_pump(struct box *box, int ms, struct error *error)
{
    struct pollfd wanted = {.fd = box->fd, .events = POLLIN};
    buf_consume(&box->in, box->taken);
    box->taken = 0;
    if (!buf_ok(&box->out))
        return error_out_of_memory(error);
    if (!send_queued(box)) {
        while (receive(box) && box->in.size == 0)
            continue;
        return tell_end(box, error);
    }
    if (box->out.size > 0)
        wanted.events |= POLLOUT;
    if (poll(&wanted, 1, ms) < 0 && errno != EINTR)
        return error_set(error, ERROR_INTERNAL, "poll: %s", strerror(errno));
    if ((wanted.revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !receive(box))
        return tell_end(box, error);
    return true;
}

bool box_next(struct box *box, struct box_answer *answer, const char **text)
{
    size_t left = box->in.size - box->taken;
    if (left < sizeof *answer)
        return false;
    memcpy(answer, box->in.data + box->taken, sizeof *answer);
    if (left - sizeof *answer < answer->size)
        return false;
    *text = box->in.data + box->taken + sizeof *answer;
    box->taken += sizeof *answer + answer->size;
    return true;
}
