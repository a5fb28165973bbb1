/*
 * Arguments and environment of pgflow-runner; see runner_command.h.
 */
#include "module/runner_command.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const passed_names[] = {"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", NULL};

void runner_command_init(struct runner_command *command, int runner_program)
{
    *command = (struct runner_command){.count = 0};
    snprintf(command->program, sizeof command->program, "/proc/self/fd/%d", runner_program);
    runner_command_add(command, "pgflow-runner");
}

void runner_command_init_under(struct runner_command *command, int runner_program,
                               const char *const *under)
{
    char link[64];
    char path[PATH_MAX];
    ssize_t length;

    *command = (struct runner_command){.count = 0};
    snprintf(command->program, sizeof command->program, "%s", under[0]);
    for (size_t i = 0; under[i] != NULL; i++)
        runner_command_add(command, under[i]);
    snprintf(link, sizeof link, "/proc/self/fd/%d", runner_program);
    length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = '\0';
    runner_command_add(command, path);
}

void runner_command_add(struct runner_command *command, const char *argument)
{
    char *copy = command->count + 1 < RUNNER_ARGUMENTS ? strdup(argument) : NULL;

    if (copy == NULL)
        command->failed = true;
    else
        command->arguments[command->count++] = copy;
}

void runner_command_add_number(struct runner_command *command, const char *option,
                               unsigned long long number)
{
    char text[32];

    snprintf(text, sizeof text, "%llu", number);
    runner_command_add(command, option);
    runner_command_add(command, text);
}

void runner_command_add_parts(struct runner_command *command, const char *mode,
                              const struct module_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        runner_command_add(command, i == 0 ? mode : "--preload");
        runner_command_add(command, parts[i].path);
    }
}

void runner_command_add_common(struct runner_command *command, uid_t uid, gid_t gid)
{
    runner_command_add_number(command, "--parent", (unsigned long long)getpid());
    if (uid != (uid_t)-1)
        runner_command_add_number(command, "--uid", uid);
    if (gid != (gid_t)-1)
        runner_command_add_number(command, "--gid", gid);
}

void runner_command_finish(struct runner_command *command)
{
    for (size_t i = 0; i < command->count; i++)
        free(command->arguments[i]);
    command->count = 0;
}

static bool is_name(const char *entry, const char *name)
{
    size_t length = strlen(name);

    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static bool is_listed(const char *entry, const char *const *names)
{
    for (size_t i = 0; names != NULL && names[i] != NULL; i++)
        if (is_name(entry, names[i]))
            return true;
    return false;
}

static bool is_passed(const char *entry, const char *const *pass_env)
{
    return strncmp(entry, "LC_", 3) == 0 || is_listed(entry, passed_names) ||
           is_listed(entry, pass_env);
}

char **runner_environment(const char *const *pass_env)
{
    size_t count = 0;
    size_t bytes = 0;
    size_t at = 0;
    size_t size;
    char **list;
    char *text;

    for (char **entry = environ; *entry != NULL; entry++) {
        if (!is_passed(*entry, pass_env))
            continue;
        count++;
        bytes += strlen(*entry) + 1;
    }
    list = malloc((count + 1) * sizeof *list + bytes);
    if (list == NULL)
        return NULL;
    text = (char *)(list + count + 1);
    for (char **entry = environ; *entry != NULL && at < count; entry++) {
        if (!is_passed(*entry, pass_env))
            continue;
        list[at++] = text;
        size = strlen(*entry) + 1;
        memcpy(text, *entry, size);
        text += size;
    }
    list[at] = NULL;
    return list;
}
