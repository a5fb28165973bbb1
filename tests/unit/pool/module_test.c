/*
 * Module files: what is refused and with which words, and that what was
 * inspected is what runs.
 */
#include "harness.h"
#include "module_fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(module, .init = fixture_begin, .fini = fixture_end, .timeout = 60);

Test(module, is_inspected_and_described)
{
    struct module_file *file = open_fine(in_plugins("noop"));
    size_t size;

    cr_assert_str_eq(module_file_path(file), in_plugins("noop"));
    cr_assert_eq(strlen(module_file_sha256(file)), 64);
    cr_assert_eq(strlen(module_file_build_id(file)), 40);
    cr_assert_not_null(strstr(module_file_descriptor(file, &size), "\"flowSlug\":\"noop\""));
    cr_assert_eq(size, strlen(module_file_descriptor(file, NULL)));
    module_file_close(file);
}

Test(module, bare_name_is_in_the_current_folder)
{
    struct module_file *file, *by_path;

    copy(in_plugins("noop"), in_folder("flow.so"));
    cr_assert_eq(chdir(fixture_folder), 0);
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
    expect_refused(fixture_folder, "is a folder, not a shared object");
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

    snprintf(object, sizeof object, "echo 'int a;' | cc -x c -c -o %s/o.so -", fixture_folder);
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
    cr_assert(strstr(fixture_error.text, "2") != NULL && strstr(fixture_error.text, "1") != NULL);
    expect_refused(in_plugins("needs_minor"), "needs_minor");
    cr_assert(strstr(fixture_error.text, "1.99") != NULL &&
              strstr(fixture_error.text, "1.1") != NULL);
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
    words = strstr(fixture_error.text, "left ");
    cr_assert_not_null(words, "%s", fixture_error.text);
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
             fixture_folder, fixture_folder);

    expect_refused(in_folder("open.so"), text);
}

Test(module, writable_folder_is_refused_unless_sticky)
{
    char text[512];

    copy(in_plugins("noop"), in_folder("d/flow.so"));
    chmod(in_folder("d"), 0777);
    snprintf(text, sizeof text,
             "'%s/d' can be written by others than its owner (mode 0777): chmod go-w %s/d",
             fixture_folder, fixture_folder);
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

    cr_assert_null(module_file_open(fixture_store, in_folder("theirs.so"), &fixture_error));
    cr_assert_not_null(strstr(fixture_error.text, "belongs to user 65534"), "%s",
                       fixture_error.text);
}

Test(module, writable_file_may_be_allowed)
{
    copy(in_plugins("noop"), in_folder("open.so"));
    chmod(in_folder("open.so"), 0666);
    module_store_close(fixture_store);
    fixture_store = fixture_open_store(true);

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

    (void)unlink(in_folder("flow.so"));
    cr_assert(module_file_changed(file));
    cr_assert(!module_file_changed(file));

    copy(in_plugins("noop"), in_folder("flow.so"));
    cr_assert(!module_file_changed(file), "the same bytes again are no change");
    module_file_close(file);
}

Test(module, inspect_alone_needs_no_store)
{
    size_t size;
    char *json = module_inspect(fixture_runner, in_plugins("chain"), false, &size, &fixture_error);

    cr_assert_not_null(json, "%s", fixture_error.text);
    cr_assert_not_null(strstr(json, "\"chain\""));
    free(json);
    cr_assert_null(module_inspect(fixture_runner, "./nowhere.so", false, &size, &fixture_error));
    cr_assert_str_eq(fixture_error.text,
                     "./nowhere.so: cannot be opened: No such file or directory");
}

Test(module, missing_runner_is_told)
{
    cr_assert_eq(runner_program_open("/nonexistent/pgflow-runner", &fixture_error), -1);
    cr_assert_str_eq(fixture_error.text,
                     "cannot open '/nonexistent/pgflow-runner': No such file or directory");
}
