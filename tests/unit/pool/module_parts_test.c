/*
 * The sealed files that runners map: nobody can change them, they are whole, and every library that
 * a module brings along is one of them or is refused.
 */
#include "module_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(module_parts, .init = fixture_begin, .fini = fixture_end, .timeout = 60);

static void expect_sealed(const struct module_part *part)
{
    char link[64];
    int fd;

    snprintf(link, sizeof link, "/proc/self/fd/%d", part->fd);
    fd = open(link, O_RDWR | O_CLOEXEC);
    cr_assert(fd >= 0);

    cr_assert(write(fd, "x", 1) < 0 && errno == EPERM);
    cr_assert(pwrite(part->fd, "x", 1, 0) < 0 && errno == EPERM);
    cr_assert(ftruncate(fd, 0) < 0 && errno == EPERM);
    cr_assert(truncate(link, 1 << 20) < 0 && errno == EPERM);
    cr_assert(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) < 0);
    cr_assert_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    cr_assert(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0 && errno == EPERM);
    (void)close(fd);
}

/* The bytes of the file at `path`. */
static void expect_bytes(const struct module_part *part, const char *path)
{
    char command[800];

    snprintf(command, sizeof command, "cmp '/proc/%d/fd/%d' '%s'", getpid(), part->fd, path);
    cr_assert_eq(system(command), 0);
}

Test(module_parts, are_the_bytes_of_the_file_for_ever)
{
    struct module_file *file;
    const struct module_part *parts;
    size_t count;

    copy(in_plugins("noop"), in_folder("flow.so"));
    file = open_fine(in_folder("flow.so"));
    parts = module_file_parts(file, &count);
    cr_assert_eq(count, 1);

    copy(in_plugins("chain"), in_folder("flow.so"));

    expect_bytes(&parts[0], in_plugins("noop"));
    expect_sealed(&parts[0]);
    module_file_close(file);
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

static void expect_library_is_a_part(const char *place, const char *library)
{
    struct module_file *file;
    const struct module_part *parts;
    size_t count;
    char path[512];

    put_library_modules(place, library);
    file = open_fine(in_folder("app/flow.so"));
    parts = module_file_parts(file, &count);
    shell("rm -r app");

    cr_assert_eq(count, 2);
    snprintf(path, sizeof path, "%s/libtest_dependency.so", TEST_MODULES);
    expect_bytes(&parts[1], path);
    expect_sealed(&parts[1]);
    module_file_close(file);
}

Test(module_parts, libraries_found_from_origin_are_among_them)
{
    expect_library_is_a_part("beside", ".");
    expect_library_is_a_part("below", "lib");
    expect_library_is_a_part("above", "../lib");
}

/* `lib<name>.so` in the folder, and what else the linker is told. */
static void make_library(const char *name, const char *options)
{
    shell("printf 'int %s(void) { return 42; }\\n' > %s.c && cc -shared -fPIC -o lib%s.so %s.c %s",
          name, name, name, name, options);
}

/* `flow.so`, a module that needs these. */
static void make_module(const char *options)
{
    shell("cc -shared -fPIC -I'%s' -DFLOW_SLUG='\"made\"' -Dpgf_test_dependency_answer=one "
          "-Wl,--no-as-needed -o flow.so '%s' %s",
          TEST_SDK, TEST_MODULE_SOURCE, options);
}

static size_t count_parts(const char *path)
{
    struct module_file *file = open_fine(path);
    size_t count;

    (void)module_file_parts(file, &count);
    module_file_close(file);
    return count;
}

Test(module_parts, library_of_a_library_is_found_by_the_rpath_of_the_module)
{
    make_library("two", "-Wl,-soname,libtwo.so");
    make_library("one", "-Wl,-soname,libone.so -Wl,--no-as-needed -L. -ltwo");
    make_module("-L. -lone -Wl,--disable-new-dtags,-rpath,'$ORIGIN'");

    cr_assert_eq(count_parts(in_folder("flow.so")), 3);
}

Test(module_parts, library_in_a_folder_that_others_than_root_can_change_is_among_them)
{
    make_library("one", "-Wl,-soname,libone.so");
    shell("mkdir private && mv libone.so private && chown 65534 private 2>/dev/null || true");
    make_module("-Lprivate -lone -Wl,-rpath,\"$PWD\"/private");
    module_store_close(fixture_store);
    fixture_store = fixture_open_store(true);

    cr_assert_eq(count_parts(in_folder("flow.so")), 2);
}

Test(module_parts, library_that_only_root_can_change_is_left_to_the_loader)
{
    if (geteuid() != 0)
        cr_skip_test("needs root");
    make_module("-l:libm.so.6 -l:libc.so.6 -Wl,-rpath,/usr/lib/x86_64-linux-gnu:/lib64:/usr/lib64 "
                "-Wl,--defsym=one=0");

    cr_assert_eq(count_parts(in_folder("flow.so")), 1);
}

Test(module_parts, library_without_soname_is_refused_with_the_remedy)
{
    make_library("one", "");
    make_module("-L. -lone -Wl,-rpath,'$ORIGIN'");

    expect_refused(in_folder("flow.so"), "its library ");
    cr_assert_not_null(strstr(fixture_error.text, "has no SONAME"), "%s", fixture_error.text);
    cr_assert_not_null(strstr(fixture_error.text, "-Wl,-soname,libone.so"), "%s",
                       fixture_error.text);
}

Test(module_parts, library_of_another_soname_is_refused)
{
    make_library("one", "-Wl,-soname,libone.so");
    make_module("-L. -lone -Wl,-rpath,'$ORIGIN'");
    make_library("one", "-Wl,-soname,libone.so.2");

    expect_refused(in_folder("flow.so"), "its library ");
    cr_assert_not_null(strstr(fixture_error.text, "has the SONAME 'libone.so.2'"), "%s",
                       fixture_error.text);
}

Test(module_parts, library_that_is_needed_by_a_path_is_refused)
{
    make_library("one", "");
    make_module("./libone.so");

    expect_refused(in_folder("flow.so"), "needs './libone.so' by its path: ");
    cr_assert_not_null(strstr(fixture_error.text, "-Wl,-soname,libone.so"), "%s",
                       fixture_error.text);
}

Test(module_parts, libraries_that_need_each_other_are_refused)
{
    make_library("two", "-Wl,-soname,libtwo.so");
    make_library("one", "-Wl,-soname,libone.so -Wl,--no-as-needed,-rpath,'$ORIGIN' -L. -ltwo");
    make_library("two", "-Wl,-soname,libtwo.so -Wl,--no-as-needed,-rpath,'$ORIGIN' -L. -lone");
    make_module("-L. -lone -Wl,-rpath,'$ORIGIN'");

    expect_refused(in_folder("flow.so"), "its library ");
    cr_assert_not_null(strstr(fixture_error.text, "link the two into one library"), "%s",
                       fixture_error.text);
}

static void make_many(int count)
{
    shell("for i in $(seq %d); do echo \"int f$i(void) { return 1; }\" > l.c && "
          "cc -shared -fPIC -o libl$i.so -Wl,-soname,libl$i.so l.c || exit 1; done",
          count);
    shell("for i in $(seq %d); do echo -l:libl$i.so; done > all", count);
    make_module("-L. $(cat all) -Wl,-rpath,'$ORIGIN' -Wl,--defsym=one=0");
}

Test(module_parts, sixty_libraries_are_mapped_and_more_than_the_limit_are_refused)
{
    make_many(60);
    cr_assert_eq(count_parts(in_folder("flow.so")), 61);

    make_many(64); /* libc.so.6 is the sixty-fifth */
    expect_refused(in_folder("flow.so"), "its list of needed libraries");
}
