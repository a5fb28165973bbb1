/*
 * Hides credentials from /proc/<pid>/cmdline and /proc/<pid>/environ, which show the memory that
 * the process was started with. The strings there are overwritten in place; getenv() sees what is
 * left.
 */
#include "options/options.h"

#include <string.h>

static void wipe(char *text)
{
    memset(text, 'x', strlen(text));
}

void options_wipe_secrets(int argc, char *argv[], char *environment[])
{
    static const char *const names[] = {"PGFLOW_DATABASE=", "DATABASE_URL=", "PGPASSWORD="};
    static const char option[] = "--database";

    /* From the end: what is wiped may itself have been the option. */
    for (int i = argc - 1; i > 0; i--) {
        if (strncmp(argv[i], option, strlen(option)) != 0)
            continue;
        if (argv[i][strlen(option)] == '=')
            wipe(argv[i] + strlen(option) + 1);
        else if (argv[i][strlen(option)] == '\0' && i + 1 < argc)
            wipe(argv[i + 1]);
    }
    for (size_t i = 0; environment[i] != NULL; i++)
        for (size_t j = 0; j < sizeof names / sizeof names[0]; j++)
            if (strncmp(environment[i], names[j], strlen(names[j])) == 0)
                wipe(environment[i] + strlen(names[j]));
}
