#include "module_fixture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char fixture_folder[64];
char fixture_store_folder[96];
int fixture_runner;
struct module_store *fixture_store;
struct error fixture_error;

struct module_store *fixture_open_store(bool allow_writable)
{
    struct module_store_config config = {.folder = fixture_store_folder,
                                         .runner_program = fixture_runner,
                                         .handler_uid = (uid_t)-1,
                                         .handler_gid = (gid_t)-1,
                                         .allow_writable = allow_writable};
    struct module_store *opened = module_store_open(&config, &fixture_error);

    cr_assert_not_null(opened, "%s", fixture_error.text);
    return opened;
}

void fixture_begin(void)
{
    strcpy(fixture_folder, "/tmp/pgflow-test-XXXXXX");
    cr_assert_not_null(mkdtemp(fixture_folder));
    snprintf(fixture_store_folder, sizeof fixture_store_folder, "%s/store", fixture_folder);
    fixture_runner = runner_program_open(TEST_RUNNER, &fixture_error);
    cr_assert(fixture_runner >= 0, "%s", fixture_error.text);
    fixture_store = fixture_open_store(false);
}

void fixture_end(void)
{
    char command[128];

    module_store_close(fixture_store);
    (void)close(fixture_runner);
    snprintf(command, sizeof command, "rm -rf '%s'", fixture_folder);
    if (system(command) != 0)
        abort();
}

const char *in_plugins(const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s.so", TEST_PLUGINS, name);
    return path;
}

void copy(const char *from, const char *to)
{
    char command[1200];

    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\" && cp '%s' '%s'", to, from, to);
    cr_assert_eq(system(command), 0);
}

void shell(const char *format, ...)
{
    char text[2048];
    char command[2200];
    va_list values;

    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    snprintf(command, sizeof command, "cd '%s' && %s", fixture_folder, text);
    cr_assert_eq(system(command), 0, "%s", command);
}

const char *in_folder(const char *name)
{
    static char path[2][256];
    static int turn;

    turn = 1 - turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", fixture_folder, name);
    return path[turn];
}

struct module_file *open_fine(const char *path)
{
    struct module_file *file = module_file_open(fixture_store, path, &fixture_error);

    cr_assert_not_null(file, "%s", fixture_error.text);
    return file;
}

void expect_refused(const char *path, const char *text)
{
    struct module_file *file = module_file_open(fixture_store, path, &fixture_error);
    size_t length = strlen(path);

    cr_assert_null(file, "%s was not refused", path);
    cr_assert_eq(strncmp(fixture_error.text, path, length), 0, "%s", fixture_error.text);
    cr_assert_eq(strncmp(fixture_error.text + length, ": ", 2), 0, "%s", fixture_error.text);
    cr_assert_eq(strncmp(fixture_error.text + length + 2, text, strlen(text)), 0, "%s",
                 fixture_error.text);
    cr_assert_eq(fixture_error.code, ERROR_CONFIG);
}
