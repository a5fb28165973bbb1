/*
 * Finding a command, and the options that all of them have.
 */
#include "ctl/command.h"

#include "base/text.h"

#include <string.h>

enum { COMMANDS = 64 };

const struct command_option command_shared_options[] = {
    {"database", "URL", "which PostgreSQL (default: PGFLOW_DATABASE, config, DATABASE_URL, PG*)"},
    {"config", "FILE", "a config file of pgflow-host (default: PGFLOW_CONFIG)"},
    {"json", NULL, "the answer as JSON"},
    {"help", NULL, "of pgflowctl, or of the command"},
    {"version", NULL, "of pgflowctl, and the version of the schema that it carries"},
};
const size_t command_shared_option_count =
    sizeof command_shared_options / sizeof command_shared_options[0];

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < command_count; i++) {
        if (strcmp(command_table[i]->name, name) == 0)
            return command_table[i];
    }
    return NULL;
}

bool command_unknown(const char *name, struct error *error)
{
    const char *names[COMMANDS];
    size_t count = 0;
    for (size_t i = 0; i < command_count; i++) {
        if (!command_table[i]->hidden && count < COMMANDS)
            names[count++] = command_table[i]->name;
    }
    const char *near = text_nearest(name, names, count);
    if (near != NULL)
        return error_set(error, ERROR_USAGE, "unknown command '%s'; did you mean '%s'?",
                         text_shown(name), near);
    return error_set(error, ERROR_USAGE, "unknown command '%s'; pgflowctl --help lists all",
                     text_shown(name));
}
