/*
 * pgflowctl new NAME: a folder with a flow that builds, has a test, and runs. The
 * files are those of plugin-sdk/template, with the name filled in.
 */
#include "ctl/command.h"

#include "base/buf.h"
#include "base/text.h"

#include <template_files.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char placeholder[] = "my_flow";
static const char *const languages[] = {"c", "c++", "rust"};
enum { LANGUAGES = sizeof languages / sizeof languages[0] };

/* How each is built and tested, for the last words. */
static const char *const build_commands[] = {
    "cmake -S . -B build && cmake --build build && ctest --test-dir build",
    "cmake -S . -B build && cmake --build build && ctest --test-dir build",
    "make check",
};

static void put_named(struct buf *out, const char *text, const char *name)
{
    const char *at = NULL;
    while ((at = strstr(text, placeholder)) != NULL) {
        buf_put(out, text, (size_t)(at - text));
        buf_puts(out, name);
        text = at + sizeof placeholder - 1;
    }
    buf_puts(out, text);
}

/* Every folder of the path but its last part. */
static bool make_folders(char *path, struct error *error)
{
    for (char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
        if (!made)
            (void)error_set(error, ERROR_USAGE, "cannot make the folder '%s': %s", path,
                            strerror(errno));
        *slash = '/';
        if (!made)
            return false;
    }
    return true;
}

static bool write_text(const char *path, const struct buf *text, struct error *error)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool ok = file != NULL && fwrite(text->data, 1, text->size, file) == text->size;
    int problem = errno;
    if (file != NULL)
        ok = fclose(file) == 0 && ok;
    else if (fd >= 0)
        (void)close(fd);
    return ok || error_set(error, ERROR_USAGE, "cannot write '%s': %s", path, strerror(problem));
}

static bool write_file(const struct template_file *file, const char *name, struct error *error)
{
    struct buf path, text;
    buf_init(&path, PATH_MAX);
    buf_init(&text, LIMIT_MIB);
    buf_printf(&path, "%s/", name);
    put_named(&path, file->path, name);
    put_named(&text, file->text, name);
    bool ok = ((buf_ok(&path) && buf_ok(&text)) || error_out_of_memory(error)) &&
              make_folders(path.data, error) && write_text(path.data, &text, error);
    buf_free(&path);
    buf_free(&text);
    return ok;
}

static bool find_language(const char *asked, size_t *language, struct error *error)
{
    for (*language = 0; *language < LANGUAGES; (*language)++) {
        if (strcmp(asked, languages[*language]) == 0)
            return true;
    }
    *language = 1;
    if (strcmp(asked, "cpp") == 0 || strcmp(asked, "cxx") == 0)
        return true;
    return error_set(error, ERROR_USAGE, "--lang '%s': c, c++ and rust are there",
                     text_shown(asked));
}

/* The name becomes alias, file, folder and, but for Rust, target of a build; with "_v1" behind it
 * slug and queue, which is shorter than a slug may be. */
static bool check_name(const char *name, bool is_rust, struct error *error)
{
    static const char *const taken[] = {"all",  "clean",         "depend",  "edit_cache",
                                        "help", "install",       "package", "package_source",
                                        "test", "rebuild_cache", NULL};
    struct stat about;
    for (size_t i = 0; taken[i] != NULL && !is_rust; i++) {
        if (strcmp(name, taken[i]) == 0)
            return error_set(error, ERROR_USAGE, "'%s' is a target that CMake has already", name);
    }
    if (!text_is_deployment_slug(name))
        return error_set(
            error, ERROR_USAGE,
            "'%s' is no name of a flow: 1 to 128 letters, digits and single inner '_', "
            "no digit first, not \"run\"",
            text_shown(name));
    if (strlen(name) + strlen("_v1") > LIMIT_QUEUE_NAME)
        return error_set(error, ERROR_USAGE,
                         "'%s' is too long for the name of its queue: at most %zu letters", name,
                         LIMIT_QUEUE_NAME - strlen("_v1"));
    if (lstat(name, &about) == 0)
        return error_set(error, ERROR_USAGE, "'%s' is there already; nothing was changed", name);
    return true;
}

static void print_files(const struct invocation *invocation, const char *name, size_t language)
{
    const char *between = "";
    struct buf path;
    buf_init(&path, PATH_MAX);
    printf(invocation->json ? "{\"folder\":\"%s\",\"files\":[" : "%s/\n", name);
    for (size_t i = 0; i < template_files_count; i++) {
        if (strcmp(template_files[i].lang, languages[language]) != 0)
            continue;
        buf_clear(&path);
        put_named(&path, template_files[i].path, name);
        if (invocation->json)
            printf("%s\"%s\"", between, path.data);
        else
            printf("  %s\n", path.data);
        between = ",";
    }
    if (invocation->json)
        printf("]}\n");
    else
        printf("\nNext, in it: %s\n", build_commands[language]);
    buf_free(&path);
}

static int execute(struct invocation *invocation, struct error *error)
{
    const char *name = invocation->arguments[0];
    const char *lang = invocation_value(invocation, "lang");
    size_t language = 0;
    if (!find_language(lang != NULL ? lang : "c", &language, error) ||
        !check_name(name, strcmp(languages[language], "rust") == 0, error))
        return FAILED;
    for (size_t i = 0; i < template_files_count; i++) {
        if (strcmp(template_files[i].lang, languages[language]) == 0 &&
            !write_file(&template_files[i], name, error))
            return FAILED;
    }
    print_files(invocation, name, language);
    return DONE;
}

const struct command command_new = {
    .name = "new",
    .arguments = "NAME",
    .summary = "begin a flow: a folder that builds, has a test, and runs",
    .help = "Writes the folder NAME with a small flow, its build (CMake for C and C++, make and\n"
            "rustc without crates for Rust), a test of each step, a job for CI and a README.\n"
            "The alias is NAME and the concrete flow NAME_v1, so that a second version can\n"
            "follow. Files that exist are never overwritten.\n",
    .least = 1,
    .most = 1,
    .examples = "pgflowctl new my_flow\n"
                "pgflowctl new my_flow --lang rust\n",
    .run = execute,
    .options = {{"lang", "c|c++|rust", "in which language (default: c)"}},
};
