/*
 * Copies for debuggers: where they lie, that nothing depends on them, and what is removed, which is
 * only what is provably ours.
 */
#include "module_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

TestSuite(module_store, .init = fixture_begin, .fini = fixture_end, .timeout = 60);

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Of the copy of tests/plugins' module of that name. */
static const char *make_copy(const char *name)
{
    static char path[512];
    struct module_file *file = open_fine(in_plugins(name));
    size_t count;

    snprintf(path, sizeof path, "%s", module_file_parts(file, &count)[0].path);
    module_file_close(file);
    return path;
}

static void make_old(const char *path)
{
    struct timespec old = {.tv_sec = time(NULL) - 8 * 24 * 3600};
    struct timespec times[] = {old, old};

    cr_assert_eq(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void open_again(void)
{
    module_store_close(fixture_store);
    fixture_store = fixture_open_store(false);
}

/* As another host does, while a file of the first store is in use. */
static void open_once_more(void)
{
    module_store_close(fixture_open_store(false));
}

static const char *folder_of(const char *copy)
{
    static char folder[512];

    snprintf(folder, sizeof folder, "%s", copy);
    *strrchr(folder, '/') = '\0';
    return folder;
}

static bool is_there(const char *path)
{
    return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

Test(module_store, has_a_copy_by_build_id)
{
    struct module_file *file = open_fine(in_plugins("noop"));
    struct stat about;
    size_t count;
    const char *path = module_file_parts(file, &count)[0].path;
    char wanted[512];

    snprintf(wanted, sizeof wanted, "%s/%s/noop.so", fixture_store_folder,
             module_file_build_id(file));
    cr_assert_str_eq(path, wanted);
    cr_assert_eq(stat(path, &about), 0);
    cr_assert_eq(about.st_mode & 07777, 0444);
    module_file_close(file);
}

Test(module_store, has_a_copy_by_digest_where_the_build_id_is_taken_by_other_bytes)
{
    struct module_file *file;
    size_t count;

    make_copy("noop");
    copy(in_plugins("noop"), in_folder("noop.so"));
    shell("strip -g noop.so");
    file = open_fine(in_folder("noop.so"));

    cr_assert_not_null(strstr(module_file_parts(file, &count)[0].path, module_file_sha256(file)));
    module_file_close(file);
}

Test(module_store, keeps_a_copy_for_a_week_after_its_last_use)
{
    struct module_file *used = open_fine(in_plugins("noop"));
    size_t count;
    char kept[512];
    char left[512];

    snprintf(kept, sizeof kept, "%s", module_file_parts(used, &count)[0].path);
    snprintf(left, sizeof left, "%s", make_copy("chain"));
    open_once_more();
    cr_assert(is_there(left), "its last use was just now");

    make_old(folder_of(left));
    make_old(folder_of(kept));
    cr_assert(!module_file_changed(used), "says that it is in use");
    open_once_more();

    cr_assert(!is_there(folder_of(left)));
    cr_assert(is_there(kept));
    module_file_close(used);
}

Test(module_store, removes_nothing_that_lacks_its_mark)
{
    shell("mkdir -p store/" DIGEST " && echo container > store/" DIGEST "/config.json");
    make_old(in_folder("store/" DIGEST));
    shell("mkdir -p store/.new-copy && echo mine > store/.new-copy/file");
    make_old(in_folder("store/.new-copy"));

    open_again();

    cr_assert(is_there(in_folder("store/" DIGEST "/config.json")));
    cr_assert(is_there(in_folder("store/.new-copy/file")));
}

Test(module_store, removes_no_folder_and_follows_no_link)
{
    shell("mkdir target && echo precious > target/.pgflow-copy && echo precious > target/file");
    make_old(in_folder("target"));
    shell("mkdir -p store && ln -s ../target store/" DIGEST);
    make_copy("noop");
    char marked[512];
    snprintf(marked, sizeof marked, "%s", folder_of(make_copy("chain")));
    shell("mkdir '%s/inside' && ln -s ../../target/file '%s/link'", marked, marked);
    make_old(marked);

    open_again();

    cr_assert(is_there(in_folder("target/file")));
    cr_assert(is_there(in_folder("target/.pgflow-copy")));
    shell("test -d '%s/inside' && test -L '%s/link' && test -f '%s/.pgflow-copy'", marked, marked,
          marked);
}

static struct module_store *open_in(const char *folder)
{
    struct module_store_config config = {.folder = folder,
                                         .runner_program = fixture_runner,
                                         .handler_uid = (uid_t)-1,
                                         .handler_gid = (gid_t)-1};

    return module_store_open(&config, &fixture_error);
}

Test(module_store, that_others_can_write_is_refused_when_it_was_asked_for)
{
    mkdir(in_folder("shared"), 0700);
    chmod(in_folder("shared"), 0777);

    cr_assert_null(open_in(in_folder("shared")));
    cr_assert_not_null(strstr(fixture_error.text, "chmod go-w"), "%s", fixture_error.text);
}

Test(module_store, behind_a_link_of_somebody_else_is_refused)
{
    if (geteuid() != 0)
        cr_skip_test("needs root");
    shell("mkdir target && ln -s target link && chown -h 65534 link");

    cr_assert_null(open_in(in_folder("link")));
    cr_assert_not_null(strstr(fixture_error.text, "symbolic link of user 65534"), "%s",
                       fixture_error.text);
}

/* The folder that is chosen when nobody names one. */
static struct module_store *open_in_tmpdir(void)
{
    (void)unsetenv("STATE_DIRECTORY");
    (void)unsetenv("XDG_CACHE_HOME");
    cr_assert_eq(setenv("TMPDIR", fixture_folder, 1), 0);
    return open_in(NULL);
}

Test(module_store, in_tmpdir_follows_no_link_and_does_without)
{
    shell("mkdir -p target/" DIGEST " && echo precious > target/" DIGEST "/.pgflow-copy");
    make_old(in_folder("target/" DIGEST));
    shell("mkdir target/.new-copy && ln -s target pgflow-%u", geteuid());

    struct module_store *store = open_in_tmpdir();
    struct module_file *file;

    cr_assert_not_null(store, "%s", fixture_error.text);
    cr_assert_null(module_store_folder(store));
    cr_assert_not_null(strstr(module_store_trouble(store), "a link is not followed"), "%s",
                       module_store_trouble(store));
    file = module_file_open(store, in_plugins("noop"), &fixture_error);
    cr_assert_not_null(file, "%s", fixture_error.text);
    shell("test \"$(ls -A target)\" = '.new-copy\n" DIGEST "'");
    cr_assert(is_there(in_folder("target/" DIGEST "/.pgflow-copy")));
    module_file_close(file);
    module_store_close(store);
}

Test(module_store, in_tmpdir_is_made)
{
    struct module_store *store = open_in_tmpdir();
    char wanted[128];

    cr_assert_not_null(store, "%s", fixture_error.text);
    snprintf(wanted, sizeof wanted, "%s/pgflow-%u", fixture_folder, geteuid());
    cr_assert_str_eq(module_store_folder(store), wanted);
    module_store_close(store);
}
