/*
 * The mark behind a task's output, in a process of its own whose stdout is a pipe that
 * the test reads.
 */
#include "runner/output_marker.h"

#include "wire/frame.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NUMBER = 7, PIPE_BYTES = 4096, EXIT_NO_RUNNER = 99 };

/* Shared with the runner, as the host's is. */
static struct cancel_page *page;

/* What a handler may leave behind: a pipe that does not block, full, and text in the stream. */
static void leave_full_pipe(const char *text)
{
    (void)fcntl(STDOUT_FILENO, F_SETFL, O_WRONLY | O_NONBLOCK);
    (void)fputs(text, stdout);
    while (write(STDOUT_FILENO, "\n", 1) == 1)
        continue;
}

/* stderr is an empty pipe: nothing there to mark. */
static void be_the_runner(const char *text, int out, int begun)
{
    struct error error;
    int err[2];

    if (pipe2(err, O_CLOEXEC) != 0 || dup2(err[1], STDERR_FILENO) < 0 ||
        dup2(out, STDOUT_FILENO) < 0 || !output_marker_init(page, &error))
        _exit(EXIT_NO_RUNNER);
    output_marker_begin();
    leave_full_pipe(text);
    (void)close(begun);
    _exit((int)output_marker_end(NUMBER));
}

/* 'S': it waits in a system call; 'Z': it has ended. */
static char state_of(pid_t pid)
{
    char path[64], line[512] = "";
    const char *behind_name;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    cr_assert_not_null(file);
    cr_assert_not_null(fgets(line, sizeof line, file));
    (void)fclose(file);
    behind_name = strrchr(line, ')');
    return behind_name != NULL ? behind_name[2] : '?';
}

/* As the host reads: counted, odd while it is at it. */
static size_t read_all(int fd, char *into, size_t size)
{
    size_t count = 0;
    ssize_t got;

    atomic_fetch_add(&page->reads[0], 1);
    while (count < size && (got = read(fd, into + count, size - count)) > 0)
        count += (size_t)got;
    atomic_fetch_add(&page->reads[0], 1);
    return count;
}

/* `text` is in the stream when the handler ends: it must stand before the mark. */
static void expect_mark_behind(const char *text)
{
    static char read_back[3 * PIPE_BYTES];
    struct frame_marker marker;
    int out[2], begun[2];
    int status = 0;
    char none;

    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(page, MAP_FAILED);
    cr_assert_eq(pipe2(out, O_CLOEXEC), 0);
    cr_assert_eq(pipe2(begun, O_CLOEXEC), 0);
    cr_assert_eq(fcntl(out[1], F_SETPIPE_SZ, PIPE_BYTES), PIPE_BYTES);
    pid_t runner = fork();
    if (runner == 0) {
        (void)close(begun[0]);
        be_the_runner(text, out[1], begun[1]);
    }
    (void)close(out[1]);
    (void)close(begun[1]);
    cr_assert_eq(read(begun[0], &none, 1), 0);
    while (strchr("SZ", state_of(runner)) == NULL)
        sched_yield();
    size_t size = read_all(out[0], read_back, sizeof read_back);
    cr_assert_eq(waitpid(runner, &status, 0), runner);

    cr_assert(WIFEXITED(status));
    cr_assert_eq(WEXITSTATUS(status), FRAME_RESULT_STDOUT);
    cr_assert_geq(size, PIPE_BYTES + sizeof marker);
    memcpy(&marker, read_back + size - sizeof marker, sizeof marker);
    cr_assert_eq(memcmp(marker.magic, FRAME_MARKER_MAGIC, sizeof marker.magic), 0);
    cr_assert_eq(marker.number_low, NUMBER);
    cr_assert_eq(memcmp(read_back + size - sizeof marker - strlen(text), text, strlen(text)), 0);
    (void)munmap(page, sizeof *page);
}

Test(output_marker, waits_for_room_in_a_full_pipe_that_does_not_block)
{
    expect_mark_behind("");
}

Test(output_marker, text_that_a_full_pipe_has_no_room_for_is_written_before_it)
{
    expect_mark_behind("the last word");
}
