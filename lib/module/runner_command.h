/*
 * How pgflow-runner is called: its program, arguments and environment, the same
 * for inspection (module_inspect.c) and for the pool of the host.
 */
#ifndef PGFLOW_MODULE_RUNNER_COMMAND_H
#define PGFLOW_MODULE_RUNNER_COMMAND_H

#include "base/error.h"
#include "module/module_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { RUNNER_ARGUMENTS = 160 };

struct runner_command {
    char program[64]; /* /proc/self/fd/N: resolved in the child, before exec closes N */
    char *arguments[RUNNER_ARGUMENTS]; /* NULL-terminated; owned where not a literal */
    size_t count;
    bool failed; /* sticky: too many, or no memory */
};

void runner_command_init(struct runner_command *command, int runner_program);
/* The same under another program with these options (NULL-terminated), which finds the runner by
 * its path. */
void runner_command_init_under(struct runner_command *command, int runner_program,
                               const char *const *under);
void runner_command_add(struct runner_command *command, const char *argument);
void runner_command_add_number(struct runner_command *command, const char *option,
                               unsigned long long number);
/* `mode` with the path of the module, --preload with that of each library. */
void runner_command_add_parts(struct runner_command *command, const char *mode,
                              const struct module_part *parts, size_t count);
/* --uid and --gid unless (uid_t)-1, --parent of this process. */
void runner_command_add_common(struct runner_command *command, uid_t uid, gid_t gid);
void runner_command_finish(struct runner_command *command);

/* The environment of runners: PATH, HOME, USER, LANG, LC_*, TZ, TMPDIR and the
 * names in `pass_env` (NULL-terminated, may be NULL), as they are here and now.
 * One allocation, to be freed with free(); NULL without memory. */
char **runner_environment(const char *const *pass_env);

#endif
