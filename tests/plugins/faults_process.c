/* SPDX-License-Identifier: Apache-2.0
 * Handlers that misuse what their process has, and one that reports on it. */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FD_SEEN = 256 };

extern char **environ;

/* Writes nonsense into every socket it finds: one of them is the host's. */
int32_t fault_garbage_frame(void *state, const pgf_call *call)
{
    static const char garbage[64] = "\xff\xff\xff\xffHTTP/1.1 200 OK\r\n\r\n";
    long times = param_number(call, "times", 1);
    (void)state;
    for (int fd = 0; fd < FD_SEEN; fd++) {
        struct stat about;
        if (fstat(fd, &about) != 0 || !S_ISSOCK(about.st_mode))
            continue;
        for (long i = 0; i < times; i++)
            if (write(fd, garbage, sizeof garbage) < 0)
                break;
    }
    return put(call, "\"wrote garbage\"") ? PGF_OK : PGF_ERROR;
}

/* The RESULT of wire/frame.h, written by hand as malice would: it says that stdout has a mark. */
int32_t fault_forged_result(void *state, const pgf_call *call)
{
    struct {
        uint16_t version, type;
        uint32_t size;
        uint64_t number;
        int32_t status;
        uint32_t flags;
        int64_t retry_after_s;
        uint64_t elapsed_us, address_space;
        uint32_t output_size, error_size;
        char ends[2];
    } __attribute__((packed)) frame = {.version = 1,
                                       .type = 19,
                                       .size = 42,
                                       .number = (uint64_t)param_number(call, "number", 1),
                                       .flags = 1,
                                       .retry_after_s = -1};
    static char lines[64 * 1024]; /* empty ones: they take longer to read than to write */
    int unread = 0;
    (void)state;
    memset(lines, '\n', sizeof lines);
    pid_t flood = fork();
    while (flood != 0 && ioctl(STDOUT_FILENO, FIONREAD, &unread) == 0 && unread == 0)
        continue;
    for (int fd = 3; flood != 0 && fd < FD_SEEN; fd++) {
        struct stat about;
        if (fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode) &&
            write(fd, &frame, sizeof frame) == (ssize_t)sizeof frame)
            break;
    }
    while (write(STDOUT_FILENO, lines, sizeof lines) > 0)
        continue;
    return PGF_PERMANENT;
}

int32_t fault_close_all(void *state, const pgf_call *call)
{
    (void)state;
    for (int fd = 0; fd < FD_SEEN; fd++)
        (void)close(fd);
    usleep((useconds_t)param_number(call, "ms", 0) * 1000);
    return put(call, "\"closed\"") ? PGF_OK : PGF_ERROR;
}

/* "kib" (1024) of lines on stderr, or on stdout with "stdout": 1. */
int32_t fault_flood(void *state, const pgf_call *call)
{
    FILE *out = param_number(call, "stdout", 0) != 0 ? stdout : stderr;
    long lines = param_number(call, "kib", 1024) * 16;
    (void)state;
    for (long i = 0; i < lines; i++)
        (void)fprintf(out, "flood %08ld %.*s\n", i, 48,
                      "................................................");
    return put_format(call, "%ld", lines) ? PGF_OK : PGF_ERROR;
}

/* One line on each of stdout, stderr and the four log levels, and one without an end. */
int32_t fault_print(void *state, const pgf_call *call)
{
    static const char *const levels[] = {"debug", "info", "warn", "error"};
    (void)state;
    (void)fputs("a line on stdout\n", stdout);
    (void)fputs("a line on stderr\n", stderr);
    for (int32_t level = PGF_LOG_DEBUG; level <= PGF_LOG_ERROR; level++)
        call->host->log(call->host, level, levels[level], strlen(levels[level]));
    (void)fputs("no newline at the end", stdout);
    return PGF_OK;
}

/* A FIFO opens when the other end does, so a test knows that the line is in the pipe. */
int32_t fault_print_and_meet(void *state, const pgf_call *call)
{
    char text[128];
    int unread = 1;
    (void)state;
    if (!param_text(call, "line", text, sizeof text) || puts(text) < 0)
        return PGF_ERROR;
    if (param_text(call, "fifo", text, sizeof text))
        return close(open(text, O_WRONLY | O_CLOEXEC)) == 0 ? PGF_OK : PGF_ERROR;
    while (ioctl(STDOUT_FILENO, FIONREAD, &unread) == 0 && unread > 0)
        sched_yield();
    return PGF_OK;
}

/* Until it is full; less than what the host keeps of a task, should that read along. */
static void fill(int fd)
{
    static char filler[128];
    memset(filler, '.', sizeof filler - 1);
    memcpy(filler, "filler", 6);
    filler[sizeof filler - 1] = '\n';
    for (int i = 0; i < 200 && write(fd, filler, sizeof filler) == (ssize_t)sizeof filler; i++)
        continue;
}

/* Makes every descriptor non-blocking, as some event loops do, and leaves a full pipe, that
 * of stdout with a text in its buffer, or that of stderr ("stderr": 1), and a result of "mib" (4)
 * MiB. */
int32_t fault_nonblock(void *state, const pgf_call *call)
{
    static char block[1024];
    long blocks = param_number(call, "mib", 4) * 1024;
    bool ok = true;
    (void)state;
    for (int fd = 0; fd < FD_SEEN; fd++) {
        int flags = fcntl(fd, F_GETFL);
        if (flags >= 0)
            (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    }
    (void)fcntl(STDOUT_FILENO, F_SETPIPE_SZ, 4096);
    (void)fcntl(STDERR_FILENO, F_SETPIPE_SZ, 4096);
    memset(block, 'x', sizeof block);
    ok = put(call, "\"");
    for (long i = 0; i < blocks && ok; i++)
        ok = call->write(call, block, sizeof block) == 0;
    ok = ok && put(call, "\"");
    if (param_number(call, "stderr", 0) == 0)
        (void)fputs("the last word", stdout);
    fill(param_number(call, "stderr", 0) != 0 ? STDERR_FILENO : STDOUT_FILENO);
    return ok ? PGF_OK : PGF_ERROR;
}

/* Leaves a child that ignores SIGTERM and sleeps "s" (600); with "session": 1 in a session
 * of its own, with "double": 1 as an orphan, with "chain": n below n others like it. The result
 * is its pid. */
int32_t fault_fork(void *state, const pgf_call *call)
{
    int report[2];
    pid_t child = -1;
    (void)state;
    if (pipe(report) != 0)
        return PGF_ERROR;
    pid_t first = fork();
    if (first == 0) {
        if (param_number(call, "double", 0) != 0 && fork() != 0)
            _exit(0);
        if (param_number(call, "session", 0) != 0)
            setsid();
        (void)signal(SIGTERM, SIG_IGN);
        for (long above = param_number(call, "chain", 0); above > 0; above--) {
            if (fork() != 0) {
                sleep((unsigned)param_number(call, "s", 600));
                _exit(0);
            }
            setsid();
        }
        child = getpid();
        if (write(report[1], &child, sizeof child) != (ssize_t)sizeof child)
            _exit(1);
        (void)close(report[0]);
        (void)close(report[1]);
        sleep((unsigned)param_number(call, "s", 600));
        _exit(0);
    }
    (void)close(report[1]);
    ssize_t got = first > 0 ? read(report[0], &child, sizeof child) : -1;
    (void)close(report[0]);
    return got == (ssize_t)sizeof child && put_format(call, "{\"pid\": %d}", (int)child)
               ? PGF_OK
               : PGF_ERROR;
}

/* The child comes back out of the handler as if it were the runner, or "crash": 1. Before that
 * it logs, which must not reach the host either. */
int32_t fault_fork_returns(void *state, const pgf_call *call)
{
    static const char words[] = "a line of the child";
    bool crash = param_number(call, "crash", 0) != 0;
    pid_t child = fork();
    (void)state;
    if (child == 0) {
        call->host->log(call->host, PGF_LOG_INFO, words, sizeof words - 1);
        if (crash)
            abort();
        return put(call, "\"of the child\"") ? PGF_OK : PGF_ERROR;
    }
    return child > 0 && waitpid(child, NULL, 0) == child && put(call, "\"of the parent\"")
               ? PGF_OK
               : PGF_ERROR;
}

static bool put_descriptors(const pgf_call *call)
{
    bool first = true;
    bool ok = put(call, ", \"fds\": [");
    for (int fd = 0; fd < FD_SEEN && ok; fd++) {
        struct stat about;
        if (fstat(fd, &about) != 0)
            continue;
        ok = put_format(call, "%s%d", first ? "" : ", ", fd);
        first = false;
    }
    return ok && put(call, "]");
}

static bool put_environment(const pgf_call *call)
{
    bool ok = put(call, ", \"env\": [");
    for (char **entry = environ; ok && *entry != NULL; entry++)
        ok = put_format(call, "%s\"%.*s\"", entry == environ ? "" : ", ", (int)strcspn(*entry, "="),
                        *entry);
    return ok && put(call, "]");
}

/* What the sandbox left: ids, limits, descriptors and the names in the environment. */
int32_t fault_self(void *state, const pgf_call *call)
{
    struct rlimit core = {0};
    struct rlimit memory = {0};
    struct rlimit files = {0};
    struct sigaction pipe_action;
    (void)state;
    getrlimit(RLIMIT_CORE, &core);
    getrlimit(RLIMIT_AS, &memory);
    getrlimit(RLIMIT_NOFILE, &files);
    (void)sigaction(SIGPIPE, NULL, &pipe_action);
    bool ok = put_format(
        call,
        "{\"pid\": %d, \"ppid\": %d, \"sid\": %d, \"uid\": %u, \"gid\": %u, "
        "\"coreLimit\": %llu, \"memoryLimit\": %llu, \"filesLimit\": %llu, \"noNewPrivs\": %d, "
        "\"dumpable\": %d, \"sigpipeIgnored\": %s",
        (int)getpid(), (int)getppid(), (int)getsid(0), (unsigned)geteuid(), (unsigned)getegid(),
        (unsigned long long)core.rlim_cur, (unsigned long long)memory.rlim_cur,
        (unsigned long long)files.rlim_cur, prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
        prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), pipe_action.sa_handler == SIG_IGN ? "true" : "false");
    ok = ok && put_descriptors(call) && put_environment(call) && put(call, "}");
    return ok ? PGF_OK : PGF_ERROR;
}
