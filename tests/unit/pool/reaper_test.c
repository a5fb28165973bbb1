/* The reaper beside libuv's own reaping of the children that it spawned. */
#include "pool/reaper.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/wait.h>

struct children {
    uv_loop_t loop;
    uv_check_t check;
    uv_process_t first, second;
    struct reaper *reaper;
    int exited;
};

static bool all_are_ours(void *context, pid_t pid)
{
    (void)context;
    (void)pid;
    return true;
}

static void on_exit_of_child(uv_process_t *process, int64_t status, int signal_number)
{
    struct children *children = process->data;
    (void)status;
    cr_assert_eq(signal_number, SIGKILL); /* libuv saw how it ended: nobody took it before */
    children->exited++;
    uv_close((uv_handle_t *)process, NULL);
}

static void start(struct children *children, uv_process_t *process)
{
    char *arguments[] = {"sleep", "600", NULL};
    uv_process_options_t options = {
        .file = "sleep", .args = arguments, .exit_cb = on_exit_of_child};
    process->data = children;
    cr_assert_eq(uv_spawn(&children->loop, process, &options), 0);
}

/* After the poll phase, in which the first one's death was seen: the second is dead, and
 * libuv does not know it yet, when the reaper looks again in the next turn. */
static void kill_second(uv_check_t *check)
{
    struct children *children = check->data;
    siginfo_t info;
    if (children->exited == 0)
        return;
    (void)uv_process_kill(&children->second, SIGKILL);
    waitid(P_PID, (id_t)uv_process_get_pid(&children->second), &info, WEXITED | WNOWAIT);
    uv_close((uv_handle_t *)check, NULL);
}

Test(reaper, leaves_a_child_of_libuv_that_dies_between_two_looks, .timeout = 60)
{
    struct children children = {.exited = 0};
    struct error error = {0};
    uv_loop_init(&children.loop);
    children.reaper = reaper_create(&children.loop, all_are_ours, NULL, 0, &error);
    cr_assert_not_null(children.reaper);
    start(&children, &children.first);
    start(&children, &children.second);
    uv_check_init(&children.loop, &children.check);
    children.check.data = &children;
    uv_check_start(&children.check, kill_second);

    (void)uv_process_kill(&children.first, SIGKILL);
    while (children.exited < 2)
        (void)uv_run(&children.loop, UV_RUN_ONCE);

    reaper_close(children.reaper, NULL, NULL);
    (void)uv_run(&children.loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&children.loop), 0);
}
