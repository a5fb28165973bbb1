/*
 * Module files: what is refused and with which words, and that what was
 * inspected is what runs.
 */
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];       /* for source files */
static char store_folder[96]; /* below it */
static int runner_program;
static struct module_store *store;
static struct error error;

static struct module_store *open_store_allowing(bool allow_writable)
{
    struct module_store_config config = {.folder = store_folder,
                                         .runner_program = runner_program,
                                         .handler_uid = (uid_t)-1,
                                         .handler_gid = (gid_t)-1,
                                         .allow_writable = allow_writable};
    struct module_store *opened = module_store_open(&config, &error);

    cr_assert_not_null(opened, "%s", error.text);
    return opened;
}

static void begin(void)
{
    strcpy(folder, "/tmp/pgflow-test-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(store_folder, sizeof store_folder, "%s/store", folder);
    runner_program = runner_program_open(TEST_RUNNER, &error);
    cr_assert(runner_program >= 0, "%s", error.text);
    store = open_store_allowing(false);
}

static void end(void)
{
    char command[128];

    module_store_close(store);
    close(runner_program);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        abort();
}

TestSuite(module, .init = begin, .fini = end, .timeout = 60);

static const char *in_plugins(const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s.so", TEST_PLUGINS, name);
    return path;
}

static void copy(const char *from, const char *to)
{
    char command[1200];

    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\" && cp '%s' '%s'", to, from, to);
    cr_assert_eq(system(command), 0);
}

static const char *in_folder(const char *name)
{
    static char path[2][256];
    static int turn;

    turn = 1 - turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static struct module_file *open_fine(const char *path)
{
    struct module_file *file = module_file_open(store, path, &error);

    cr_assert_not_null(file, "%s", error.text);
    return file;
}

/* The error begins with the path as given, and goes on with `text`. */
static void expect_refused(const char *path, const char *text)
{
    struct module_file *file = module_file_open(store, path, &error);
    size_t length = strlen(path);

    cr_assert_null(file, "%s was not refused", path);
    cr_assert_eq(strncmp(error.text, path, length), 0, "%s", error.text);
    cr_assert_eq(strncmp(error.text + length, ": ", 2), 0, "%s", error.text);
    cr_assert_eq(strncmp(error.text + length + 2, text, strlen(text)), 0, "%s", error.text);
    cr_assert_eq(error.code, ERROR_CONFIG);
}

Test(module, is_copied_inspected_and_described)
{
    struct module_file *file = open_fine(in_plugins("noop"));
    struct stat about;
    size_t size;

    cr_assert_str_eq(module_file_path(file), in_plugins("noop"));
    cr_assert_eq(strlen(module_file_sha256(file)), 64);
    cr_assert_eq(strlen(module_file_build_id(file)), 40);
    cr_assert_not_null(strstr(module_file_copy_path(file), module_file_sha256(file)));
    cr_assert_not_null(strstr(module_file_descriptor(file, &size), "\"flowSlug\":\"noop\""));
    cr_assert_eq(size, strlen(module_file_descriptor(file, NULL)));
    cr_assert_eq(stat(module_file_copy_path(file), &about), 0);
    cr_assert_eq(about.st_mode & 07777, 0444);
    module_file_close(file);
}

Test(module, bare_name_is_in_the_current_folder)
{
    struct module_file *file, *by_path;

    copy(in_plugins("noop"), in_folder("flow.so"));
    cr_assert_eq(chdir(folder), 0);
    file = open_fine("flow.so");
    by_path = open_fine(in_folder("flow.so"));

    cr_assert_str_eq(module_file_path(file), "flow.so");
    cr_assert(module_file_same(file, by_path));
    module_file_close(file);
    module_file_close(by_path);
}

Test(module, missing_file_is_refused)
{
    expect_refused("./nowhere.so", "cannot be opened: No such file or directory");
}

Test(module, folder_is_refused)
{
    expect_refused(folder, "is a folder, not a shared object");
}

Test(module, fifo_is_refused_and_does_not_block)
{
    cr_assert_eq(mkfifo(in_folder("pipe.so"), 0600), 0);

    expect_refused(in_folder("pipe.so"), "is no regular file");
}

Test(module, text_is_refused)
{
    expect_refused(in_plugins("not_elf"), "is not a shared object (no ELF file)");
    expect_refused(in_plugins("empty"), "is not a shared object (no ELF file)");
}

Test(module, truncated_file_is_refused)
{
    expect_refused(in_plugins("truncated"),
                   "is truncated: it has 1000 bytes, its headers speak of ");
}

Test(module, executable_that_is_no_shared_object_is_refused)
{
    char object[256];

    snprintf(object, sizeof object, "echo 'int a;' | cc -x c -c -o %s/o.so -", folder);
    cr_assert_eq(system(object), 0);

    expect_refused(in_folder("o.so"), "is an ELF file but no shared object: link it with -shared");
}

Test(module, unresolved_symbol_is_named)
{
    expect_refused(in_plugins("unresolved"),
                   "cannot be loaded: undefined symbol: pgf_test_symbol_that_nobody_has");
}

Test(module, shared_object_without_the_symbol_is_refused)
{
    expect_refused(in_plugins("no_entry"), "has no symbol pgflow_module_v1: ");
}

Test(module, wrong_magic_is_refused)
{
    expect_refused(in_plugins("wrong_magic"), "magic");
}

Test(module, other_abi_is_refused_with_both_versions)
{
    expect_refused(in_plugins("wrong_major"), "abi_major");
    cr_assert(strstr(error.text, "2") != NULL && strstr(error.text, "1") != NULL);
    expect_refused(in_plugins("needs_minor"), "needs_minor");
    cr_assert(strstr(error.text, "3") != NULL && strstr(error.text, "0") != NULL);
}

Test(module, malformed_descriptor_is_refused_by_its_field)
{
    expect_refused(in_plugins("bad_descriptor"), "steps[0].slug");
}

Test(module, crashing_constructor_is_refused)
{
    expect_refused(in_plugins("ctor_crashes"),
                   "crashed while it was loaded (SIGABRT, in a constructor?)");
}

Test(module, exiting_constructor_is_refused_with_what_it_printed)
{
    expect_refused(in_plugins("ctor_exits"),
                   "exited with status 0 while it was loaded (in a constructor?); it printed: "
                   "constructor: this module does not like the machine");
}

Test(module, process_that_a_constructor_left_is_gone_after_the_inspection)
{
    const char *words;
    int left = 0;

    expect_refused(in_plugins("ctor_leaves"), "exited with status 1 while it was loaded");
    words = strstr(error.text, "left ");
    cr_assert_not_null(words, "%s", error.text);
    cr_assert_eq(sscanf(words, "left %d", &left), 1);
    cr_assert_neq(kill(left, 0), 0, "process %d is still there", left);
}

Test(module, writable_file_is_refused_with_the_remedy)
{
    char text[512];

    copy(in_plugins("noop"), in_folder("open.so"));
    chmod(in_folder("open.so"), 0664);
    snprintf(text, sizeof text,
             "'%s/open.so' can be written by others than its owner (mode 0664): chmod go-w "
             "%s/open.so",
             folder, folder);

    expect_refused(in_folder("open.so"), text);
}

Test(module, writable_folder_is_refused_unless_sticky)
{
    char text[512];

    copy(in_plugins("noop"), in_folder("d/flow.so"));
    chmod(in_folder("d"), 0777);
    snprintf(text, sizeof text,
             "'%s/d' can be written by others than its owner (mode 0777): chmod go-w %s/d", folder,
             folder);
    expect_refused(in_folder("d/flow.so"), text);

    chmod(in_folder("d"), 01777);
    module_file_close(open_fine(in_folder("d/flow.so")));
}

Test(module, foreign_owner_is_refused)
{
    if (geteuid() != 0)
        cr_skip_test("needs root");
    copy(in_plugins("noop"), in_folder("theirs.so"));
    cr_assert_eq(chown(in_folder("theirs.so"), 65534, 65534), 0);

    cr_assert_null(module_file_open(store, in_folder("theirs.so"), &error));
    cr_assert_not_null(strstr(error.text, "belongs to user 65534"), "%s", error.text);
}

Test(module, writable_file_may_be_allowed)
{
    copy(in_plugins("noop"), in_folder("open.so"));
    chmod(in_folder("open.so"), 0666);
    module_store_close(store);
    store = open_store_allowing(true);

    module_file_close(open_fine(in_folder("open.so")));
}

Test(module, same_file_by_two_paths_is_recognised)
{
    struct module_file *a, *b, *c;

    copy(in_plugins("noop"), in_folder("a.so"));
    copy(in_plugins("noop"), in_folder("c.so"));
    cr_assert_eq(symlink("a.so", in_folder("b.so")), 0);
    a = open_fine(in_folder("a.so"));
    b = open_fine(in_folder("b.so"));
    c = open_fine(in_folder("c.so"));

    cr_assert(module_file_same(a, b));
    cr_assert(!module_file_same(a, c));
    module_file_close(a);
    module_file_close(b);
    module_file_close(c);
}

Test(module, change_of_the_source_is_told_once)
{
    struct module_file *file;

    copy(in_plugins("noop"), in_folder("flow.so"));
    file = open_fine(in_folder("flow.so"));
    cr_assert(!module_file_changed(file));

    copy(in_plugins("chain"), in_folder("flow.so"));
    cr_assert(module_file_changed(file));
    cr_assert(!module_file_changed(file));

    unlink(in_folder("flow.so"));
    cr_assert(module_file_changed(file));
    cr_assert(!module_file_changed(file));

    copy(in_plugins("noop"), in_folder("flow.so"));
    cr_assert(!module_file_changed(file), "the same bytes again are no change");
    module_file_close(file);
}

static int count_copies(void)
{
    DIR *list = opendir(store_folder);
    const struct dirent *entry;
    int count = 0;

    while ((entry = readdir(list)) != NULL)
        count += entry->d_name[0] != '.';
    closedir(list);
    return count;
}

Test(module, copies_that_nobody_uses_are_removed_at_the_next_start)
{
    struct module_file *kept = open_fine(in_plugins("noop"));
    struct module_file *left = open_fine(in_plugins("chain"));

    module_file_close(left);
    cr_assert_eq(count_copies(), 2);
    module_store_close(open_store_allowing(false));

    cr_assert_eq(count_copies(), 1);
    cr_assert_eq(access(module_file_copy_path(kept), R_OK), 0);
    module_file_close(kept);
}

Test(module, copy_that_was_changed_is_made_anew)
{
    struct module_file *file = open_fine(in_plugins("noop"));
    char path[512];

    snprintf(path, sizeof path, "%s", module_file_copy_path(file));
    module_file_close(file);
    chmod(path, 0644);
    cr_assert_eq(truncate(path, 100), 0);

    module_file_close(open_fine(in_plugins("noop")));
}

Test(module, store_that_others_can_write_is_refused)
{
    struct module_store_config config = {.folder = in_folder("shared"),
                                         .runner_program = runner_program,
                                         .handler_uid = (uid_t)-1,
                                         .handler_gid = (gid_t)-1};

    mkdir(in_folder("shared"), 0700);
    chmod(in_folder("shared"), 0777);

    cr_assert_null(module_store_open(&config, &error));
    cr_assert_not_null(strstr(error.text, "chmod go-w"), "%s", error.text);
}

static void put_library_modules(const char *place, const char *library)
{
    char from[512], to[128];

    snprintf(from, sizeof from, "%s/with_library_%s.so", TEST_MODULES, place);
    copy(from, in_folder("app/flow.so"));
    snprintf(from, sizeof from, "%s/libtest_dependency.so", TEST_MODULES);
    snprintf(to, sizeof to, "app/%s/libtest_dependency.so", library);
    copy(from, in_folder(to));
}

static void expect_library_is_copied(const char *place, const char *library)
{
    struct module_file *file;
    const char *const *copies;

    put_library_modules(place, library);
    file = open_fine(in_folder("app/flow.so"));
    copies = module_file_dependencies(file);

    cr_assert_not_null(copies[0]);
    cr_assert_null(copies[1]);
    cr_assert_eq(strncmp(copies[0], store_folder, strlen(store_folder)), 0);
    cr_assert_eq(access(copies[0], R_OK), 0);
    module_file_close(file);
}

Test(module, libraries_found_from_origin_are_copied)
{
    expect_library_is_copied("beside", ".");
    expect_library_is_copied("below", "lib");
    expect_library_is_copied("above", "../lib");
}

Test(module, other_library_makes_another_copy)
{
    struct module_file *file;
    char first[512];

    put_library_modules("beside", ".");
    file = open_fine(in_folder("app/flow.so"));
    snprintf(first, sizeof first, "%s", module_file_copy_path(file));
    module_file_close(file);
    cr_assert_eq(truncate(in_folder("app/libtest_dependency.so"), 1 << 20), 0);
    file = open_fine(in_folder("app/flow.so"));

    cr_assert_str_neq(module_file_copy_path(file), first);
    module_file_close(file);
}

Test(module, inspect_alone_needs_no_store)
{
    size_t size;
    char *json = module_inspect(runner_program, in_plugins("chain"), &size, &error);

    cr_assert_not_null(json, "%s", error.text);
    cr_assert_not_null(strstr(json, "\"chain\""));
    free(json);
    cr_assert_null(module_inspect(runner_program, "./nowhere.so", &size, &error));
    cr_assert_str_eq(error.text, "./nowhere.so: cannot be opened: No such file or directory");
}

Test(module, missing_runner_is_told)
{
    cr_assert_eq(runner_program_open("/nonexistent/pgflow-runner", &error), -1);
    cr_assert_str_eq(error.text,
                     "cannot open '/nonexistent/pgflow-runner': No such file or directory");
}

Test(running_module, copy_that_was_removed_is_named_with_the_remedy)
{
    struct harness h;
    struct pool_module *noop;

    harness_init(&h);
    harness_start(&h);
    noop = harness_add(&h, "noop");
    cr_assert_eq(unlink(module_file_copy_path(h.files[0])), 0);
    pool_warm(noop);
    harness_wait(&h, &h.held_count, 1);

    cr_assert_not_null(strstr(h.held_reason, module_file_copy_path(h.files[0])));
    cr_assert_not_null(strstr(h.held_reason, "was removed: restart the host"));
    harness_finish(&h);
}

/* The whole point of the copies. */
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
    h.files[0] = module_file_open(h.store, path, &error);
    cr_assert_not_null(h.files[0], "%s", error.text);
    noop = h.modules[0] = pool_add_module(h.pool, h.files[0], "noop", &h, &error);
    h.module_count = 1;
    harness_run(&h, &before, noop, "noop", "{}");
    copy(in_plugins("init_crashes"), path);
    kill(before.pid, SIGKILL);
    while (pool_module_exits(noop, POOL_EXIT_SIGNAL) == 0)
        uv_run(&h.loop, UV_RUN_ONCE);
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
    h.files[0] = module_file_open(h.store, path, &error);
    cr_assert_not_null(h.files[0], "%s", error.text);
    h.modules[0] = pool_add_module(h.pool, h.files[0], "with_library", &h, &error);
    h.module_count = 1;
    harness_run(&h, &task, h.modules[0], "ask", "{}");

    cr_assert_str_eq(task.output, "42");
    record_free(&task);
    harness_finish(&h);
}
