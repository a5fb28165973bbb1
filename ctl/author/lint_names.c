/*
 * Asks the dynamic loader what a file lacks, as ldd -r does: with these variables
 * set it maps the file and its libraries, lists what it misses, and ends before
 * any constructor.
 */
#include "ctl/author/lint.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOADER_MS = 10000, ANSWER_BYTES = 16 * LIMIT_MIB, NAMES_SHOWN = 20 };

/* The loader that runs this program: its path stands in our own headers. */
static const char *loader_path(void)
{
    const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR);
    size_t count = getauxval(AT_PHNUM);
    uintptr_t base = 0;
    for (size_t i = 0; i < count; i++) {
        if (headers[i].p_type == PT_PHDR)
            base = (uintptr_t)headers - headers[i].p_vaddr;
    }
    for (size_t i = 0; i < count; i++) {
        if (headers[i].p_type == PT_INTERP)
            return (const char *)(base + headers[i].p_vaddr);
    }
    return NULL;
}

static bool start(pid_t *pid, int out, const char *path, struct error *error)
{
    const char *loader = loader_path();
    char *arguments[] = {(char *)(uintptr_t)loader, (char *)(uintptr_t)path, NULL};
    char trace[] = "LD_TRACE_LOADED_OBJECTS=1";
    char warn[] = "LD_WARN=yes";
    char now[] = "LD_BIND_NOW=yes";
    char *environment[] = {trace, warn, now, NULL};
    posix_spawn_file_actions_t actions;
    if (loader == NULL)
        return error_set(error, ERROR_INTERNAL, "this program has no dynamic loader to ask");
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
    int failed = posix_spawn(pid, loader, &actions, NULL, arguments, environment);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed == 0 ||
           error_set(error, ERROR_INTERNAL, "cannot start %s: %s", loader, strerror(failed));
}

static void read_answer(int in, pid_t pid, struct buf *answer)
{
    struct pollfd poll_in = {.fd = in, .events = POLLIN};
    for (;;) {
        char *room = buf_reserve(answer, 65536);
        if (room == NULL || poll(&poll_in, 1, LOADER_MS) == 0) {
            (void)kill(pid, SIGKILL);
            return;
        }
        ssize_t got = read(in, room, 65536);
        if (got > 0)
            buf_commit(answer, (size_t)got);
        else if (got == 0 || errno != EINTR)
            return;
    }
}

/* "undefined symbol: NAME\t(FILE)", "\tLIBRARY => not found" */
static void look_at_line(struct lint *lint, char *line, size_t *names)
{
    static const char undefined[] = "undefined symbol: ";
    static const char missing[] = " => not found";
    char *end = strstr(line, missing);
    if (end != NULL) {
        *end = '\0';
        lint_add(lint, "library", "install it, or link the static library",
                 "the library '%s' is not found here", line + strspn(line, "\t "));
    } else if (strncmp(line, undefined, sizeof undefined - 1) == 0 && (*names)++ < NAMES_SHOWN) {
        line += sizeof undefined - 1;
        line[strcspn(line, " \t,(")] = '\0';
        lint_add(lint, "unresolved", "link what defines it, and link with -Wl,-z,defs to be told",
                 "'%s' is defined nowhere", line);
    }
}

bool lint_names(struct lint *lint, const char *real_path, struct error *error)
{
    int ends[2];
    pid_t pid = 0;
    struct buf answer;
    char *rest = NULL;
    size_t names = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set(error, ERROR_INTERNAL, "pipe: %s", strerror(errno));
    buf_init(&answer, ANSWER_BYTES);
    bool started = start(&pid, ends[1], real_path, error);
    (void)close(ends[1]);
    if (started) {
        read_answer(ends[0], pid, &answer);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        for (char *line = strtok_r(answer.data, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest))
            look_at_line(lint, line, &names);
    }
    (void)close(ends[0]);
    buf_free(&answer);
    return started;
}
