/*
 * A runner's birth, and the closing of what it had. The child inherits the
 * socket, both pipes, the cancel page and the sealed bytes of its module, and
 * nothing else of ours.
 */
#include "module/runner_command.h"
#include "module/sealed_file.h"
#include "pool/pool_internal.h"
#include "wire/runner_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOCKET_BUFFER = 1024 * 1024 };

/* Our ends and the child's. -1: not open. */
struct ends {
    int socket[2], out[2], err[2]; /* 0: ours; 1: the child's */
    int page;
};

static void close_if_open(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

static void close_child_ends(struct ends *ends)
{
    close_if_open(ends->socket[1]);
    close_if_open(ends->out[1]);
    close_if_open(ends->err[1]);
    close_if_open(ends->page);
}

static void close_our_ends(struct ends *ends)
{
    close_if_open(ends->socket[0]);
    close_if_open(ends->out[0]);
    close_if_open(ends->err[0]);
}

static bool open_pipe(int ends[2], struct error *error)
{
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
        return error_set(error, ERROR_INTERNAL, "pipe: %s", strerror(errno));
    return true;
}

static bool open_socket(int ends[2], struct error *error)
{
    int size = SOCKET_BUFFER;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return error_set(error, ERROR_INTERNAL, "socketpair: %s", strerror(errno));
    for (int i = 0; i < 2; i++) /* only fewer system calls for large payloads */
        setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
        return error_set(error, ERROR_INTERNAL, "fcntl: %s", strerror(errno));
    return true;
}

/* Sealed after we mapped it, so no one can map it writable again. A kernel
 * before 5.1 lacks that seal; the other seals and the runner's read-only
 * mapping remain. */
static struct cancel_page *open_page(int *fd, struct error *error)
{
    void *page;

    *fd = memfd_create("pgflow-cancel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd < 0 || ftruncate(*fd, CANCEL_PAGE_SIZE) != 0) {
        (void)error_set(error, ERROR_INTERNAL, "memfd: %s", strerror(errno));
        return NULL;
    }
    page = mmap(NULL, CANCEL_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (page == MAP_FAILED) {
        (void)error_set(error, ERROR_INTERNAL, "mmap: %s", strerror(errno));
        return NULL;
    }
    (void)fcntl(*fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
    (void)fcntl(*fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
    return page;
}

static bool open_ends(struct ends *ends, struct cancel_page **page, struct error *error)
{
    *ends = (struct ends){{-1, -1}, {-1, -1}, {-1, -1}, -1};
    if (!open_socket(ends->socket, error) || !open_pipe(ends->out, error) ||
        !open_pipe(ends->err, error))
        return false;
    *page = open_page(&ends->page, error);
    return *page != NULL;
}

static void make_command(struct runner_command *command, const struct pool_module *module)
{
    const struct pool_config *config = &module->pool->config;
    size_t count;
    const struct module_part *parts = module_file_parts(module->file, &count);

    if (config->under != NULL)
        runner_command_init_under(command, config->runner_program, config->under);
    else
        runner_command_init(command, config->runner_program);
    runner_command_add_parts(command, "--run", parts, count);
    /* A tool around the runner reads symbols of files only: it gets those that the author has. */
    if (config->under == NULL)
        runner_command_add(command, "--sealed");
    runner_command_add_common(command, config->handler_uid, config->handler_gid);
    runner_command_add_number(command, "--max-payload", config->max_payload);
    runner_command_add_number(command, "--memory", config->handler_memory);
    if (config->handler_files > 0)
        runner_command_add_number(command, "--files", config->handler_files);
    if (config->handler_core)
        runner_command_add(command, "--core");
}

static void inherit(uv_process_options_t *options, int fd)
{
    options->stdio[options->stdio_count++] =
        (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = fd};
}

static int spawn_process(struct runner *runner, const struct ends *ends,
                         const struct runner_command *command)
{
    uv_stdio_container_t stdio[RUNNER_FD_ABOVE_ALL] = {{.flags = UV_IGNORE}};
    uv_process_options_t options = {.exit_cb = runner_on_exit,
                                    .file = command->program,
                                    .args = (char **)(uintptr_t)command->arguments,
                                    .env = runner->pool->environment,
                                    .flags = UV_PROCESS_DETACHED, /* a session of its own */
                                    .stdio_count = 1,
                                    .stdio = stdio};
    size_t count;
    const struct module_part *parts = module_file_parts(runner->module->file, &count);

    inherit(&options, ends->out[1]);
    inherit(&options, ends->err[1]);
    inherit(&options, ends->socket[1]);
    inherit(&options, ends->page);
    for (size_t i = 0; i < count; i++) {
        sealed_file_let_read(parts[i].fd);
        inherit(&options, parts[i].fd);
    }
    return uv_spawn(runner->pool->config.loop, &runner->process, &options);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct runner *runner = handle->data;
    struct pool *pool = runner->pool;

    if (--runner->open_handles > 0)
        return;
    (void)close(runner->socket);
    (void)close(runner->out[POOL_STDOUT].fd);
    (void)close(runner->out[POOL_STDERR].fd);
    (void)munmap(runner->page, CANCEL_PAGE_SIZE);
    frame_reader_finish(&runner->reader);
    runner_output_finish(&runner->out[POOL_STDOUT]);
    runner_output_finish(&runner->out[POOL_STDERR]);
    free(runner->unsent_copy);
    runner_forget(runner);
    free(runner);
    pool_continue_close(pool);
}

/* The data of an output's poll is the output while it works; the close callback
 * wants the runner. */
void runner_close_handles(struct runner *runner)
{
    uv_handle_t *handles[] = {(uv_handle_t *)&runner->process, (uv_handle_t *)&runner->timer,
                              (uv_handle_t *)&runner->socket_poll,
                              (uv_handle_t *)&runner->out[POOL_STDOUT].poll,
                              (uv_handle_t *)&runner->out[POOL_STDERR].poll};

    for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++) {
        handles[i]->data = runner;
        uv_close(handles[i], on_handle_closed);
        runner->open_handles++;
    }
}

static void init_handles(struct runner *runner, const struct ends *ends)
{
    uv_loop_t *loop = runner->pool->config.loop;

    runner->socket = ends->socket[0];
    runner_output_init(runner, POOL_STDOUT, ends->out[0]);
    runner_output_init(runner, POOL_STDERR, ends->err[0]);
    frame_reader_init(&runner->reader, frame_max_body(runner->pool->config.max_payload));
    (void)uv_timer_init(loop, &runner->timer);
    uv_poll_init(loop, &runner->socket_poll, runner->socket);
    runner->timer.data = runner->process.data = runner->socket_poll.data = runner;
    for (int i = 0; i < 2; i++) {
        uv_poll_init(loop, &runner->out[i].poll, runner->out[i].fd);
        runner->out[i].poll.data = &runner->out[i];
    }
}

static void begin(struct runner *runner)
{
    struct pool *pool = runner->pool;

    runner->pid = runner->process.pid;
    pool->spawned++;
    runner_link(runner);
    runner_set_due(runner, uv_now(pool->config.loop) + pool->config.ready_timeout_ms);
    runner_watch_socket(runner);
    for (int i = 0; i < 2; i++)
        (void)uv_poll_start(&runner->out[i].poll, UV_READABLE | UV_DISCONNECT, runner_on_output);
}

static void on_never_spawned(uv_handle_t *handle)
{
    struct runner *runner = handle->data;
    struct pool *pool = runner->pool;

    pool->open_handles--;
    free(runner);
    pool_continue_close(pool);
}

/* Even a process handle that was not spawned must be closed by libuv. */
static struct runner *give_up(struct runner *runner, struct ends *ends)
{
    close_our_ends(ends);
    close_child_ends(ends);
    if (runner->page != NULL)
        (void)munmap(runner->page, CANCEL_PAGE_SIZE);
    if (runner->process.type == UV_PROCESS) {
        runner->process.data = runner;
        runner->pool->open_handles++;
        uv_close((uv_handle_t *)&runner->process, on_never_spawned);
    } else {
        free(runner);
    }
    return NULL;
}

struct runner *runner_spawn(struct pool_module *module, struct error *error)
{
    struct runner *runner = NULL;
    struct runner_command command;
    struct ends ends;
    int failed;

    runner = calloc(1, sizeof *runner);
    if (runner == NULL) {
        (void)error_out_of_memory(error);
        return NULL;
    }
    runner->pool = module->pool;
    runner->module = module;
    if (!open_ends(&ends, &runner->page, error))
        return give_up(runner, &ends);
    make_command(&command, module);
    failed = command.failed ? UV_ENOMEM : spawn_process(runner, &ends, &command);
    runner_command_finish(&command);
    if (failed != 0) {
        (void)error_set(error, ERROR_INTERNAL, "cannot start a runner: %s", uv_strerror(failed));
        return give_up(runner, &ends);
    }
    close_child_ends(&ends);
    init_handles(runner, &ends);
    begin(runner);
    return runner;
}
