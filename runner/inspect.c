/*
 * Inspect mode; see inspect.h.
 */
#include "runner/inspect.h"

#include "base/fd_wait.h"
#include "runner/descriptor_json.h"
#include "runner/module.h"
#include "runner/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static bool write_all(int fd, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, text, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EAGAIN) { /* a constructor's doing */
            fd_wait(fd, POLLOUT);
            continue;
        }
        if (written < 0)
            return false;
        text += written;
        size -= (size_t)written;
    }
    return true;
}

/* Keeps stdout for the answer and gives the module stderr in its place. */
static int take_stdout(const struct runner_options *options, struct error *error)
{
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, runner_first_fd(options));

    if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        (void)error_set(error, ERROR_INTERNAL, "stdout: %s", strerror(errno));
        return -1;
    }
    return fd;
}

static bool print_descriptor(int fd, const struct descriptor *descriptor, struct error *error)
{
    struct buf json;
    bool ok;

    buf_init(&json, LIMIT_DESCRIPTOR_JSON);
    descriptor_put_json(&json, descriptor);
    buf_putc(&json, '\n');
    ok = buf_ok(&json);
    if (!ok)
        (void)error_set(error, ERROR_CONFIG, "its descriptor is larger than %d MiB as JSON",
                        LIMIT_DESCRIPTOR_JSON / LIMIT_MIB);
    else if (!write_all(fd, json.data, json.size))
        ok = error_set(error, ERROR_INTERNAL, "stdout: %s", strerror(errno));
    buf_free(&json);
    return ok;
}

/* What whoever started us left open. */
static void close_leftovers(const struct runner_options *options, int out)
{
    int first = runner_first_fd(options);

    close_range(RUNNER_FD_SOCKET, RUNNER_FD_PARTS - 1, 0);
    if (out > first)
        close_range((unsigned)first, (unsigned)out - 1, 0);
}

int inspect_module(const struct runner_options *options)
{
    struct descriptor *descriptor = NULL;
    struct error error = {0};
    int out = take_stdout(options, &error);
    bool ok = out >= 0 && sandbox_enter(options, out + 1, &error);

    if (ok) {
        close_leftovers(options, out);
        descriptor = module_load(options, &error);
    }
    ok = descriptor != NULL && print_descriptor(out, descriptor, &error);
    descriptor_free(descriptor);
    if (!ok && !write_all(out < 0 ? STDERR_FILENO : out, error.text, strlen(error.text)))
        return ERROR_INTERNAL;
    return ok ? 0 : error.code;
}
