/*
 * A module at work: whatever becomes of its file, of its libraries and of every folder, each new
 * runner has the bytes that were inspected.
 */
#include "harness.h"
#include "module_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void open_module(struct harness *h, const char *path, const char *name)
{
    struct error error;

    h->files[0] = module_file_open(h->store, path, &error);
    cr_assert_not_null(h->files[0], "%s", error.text);
    h->modules[0] = pool_add_module(h->pool, h->files[0], name, h, &error);
    h->module_count = 1;
}

static void kill_runner(struct harness *h, const struct record *record)
{
    (void)kill(record->pid, SIGKILL);
    while (pool_module_exits(h->modules[0], POOL_EXIT_SIGNAL) == 0)
        (void)uv_run(&h->loop, UV_RUN_ONCE);
}

Test(running_module, goes_on_for_new_runners_when_every_folder_was_emptied)
{
    struct harness h;
    struct record before = {0}, after = {0};
    char path[512], command[600];

    harness_init(&h);
    harness_start(&h);
    snprintf(path, sizeof path, "%s/app/flow.so", h.folder);
    snprintf(command, sizeof command, "%s/with_library_beside.so", TEST_MODULES);
    copy(command, path);
    snprintf(path, sizeof path, "%s/app/libtest_dependency.so", h.folder);
    snprintf(command, sizeof command, "%s/libtest_dependency.so", TEST_MODULES);
    copy(command, path);
    snprintf(path, sizeof path, "%s/app/flow.so", h.folder);
    open_module(&h, path, "with_library");
    harness_run(&h, &before, h.modules[0], "ask", "{}");
    snprintf(command, sizeof command, "rm -r '%s'/* && test -d '%s'", h.folder, h.folder);
    cr_assert_eq(system(command), 0);
    kill_runner(&h, &before);
    harness_run(&h, &after, h.modules[0], "ask", "{}");

    cr_assert_str_eq(after.output, "42");
    cr_assert_neq(after.pid, before.pid);
    record_free(&before);
    record_free(&after);
    harness_finish(&h);
}

/* Its owner may change the mode of a sealed file, if not its bytes. */
Test(running_module, goes_on_when_its_sealed_file_was_made_unreadable)
{
    struct harness h;
    struct record before = {0}, after = {0};
    size_t count;

    harness_init(&h);
    harness_start(&h);
    harness_add(&h, "noop");
    harness_run(&h, &before, h.modules[0], "noop", "{}");
    cr_assert_eq(fchmod(module_file_parts(h.files[0], &count)->fd, 0), 0);
    kill_runner(&h, &before);
    harness_run(&h, &after, h.modules[0], "noop", "{}");

    cr_assert_eq(after.outcome, POOL_COMPLETED, "%s", after.error);
    record_free(&before);
    record_free(&after);
    harness_finish(&h);
}

Test(running_module, goes_on_with_its_bytes_when_the_file_is_overwritten)
{
    struct harness h;
    struct record before = {0}, after = {0};
    struct pool_module *noop;
    char path[128];

    harness_init(&h);
    harness_start(&h);
    snprintf(path, sizeof path, "%s/flow.so", h.folder);
    copy(in_plugins("noop"), path);
    open_module(&h, path, "noop");
    noop = h.modules[0];
    harness_run(&h, &before, noop, "noop", "{}");
    copy(in_plugins("init_crashes"), path);
    kill_runner(&h, &before);
    harness_run(&h, &after, noop, "noop", "{}");

    cr_assert_eq(after.outcome, POOL_COMPLETED, "%s", after.error);
    cr_assert_neq(after.pid, before.pid);
    cr_assert(module_file_changed(h.files[0]));
    record_free(&before);
    record_free(&after);
    harness_finish(&h);
}

Test(running_module, uses_the_library_that_it_came_with)
{
    struct harness h;
    struct record task = {0};
    char path[512];

    harness_init(&h);
    harness_start(&h);
    snprintf(path, sizeof path, "%s/with_library_beside.so", TEST_MODULES);
    open_module(&h, path, "with_library");
    harness_run(&h, &task, h.modules[0], "ask", "{}");

    cr_assert_str_eq(task.output, "42");
    record_free(&task);
    harness_finish(&h);
}
