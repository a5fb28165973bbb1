/*
 * The help of pgflowctl, made from the table of commands.
 */
#include "ctl/command.h"

#include <stdio.h>
#include <string.h>

static const char shared_help[] =
    "  --database URL           which PostgreSQL (default: PGFLOW_DATABASE, the config file,\n"
    "                           DATABASE_URL, PG*)\n"
    "  --config FILE            a config file of pgflow-host (default: PGFLOW_CONFIG)\n"
    "  --json                   the answer as JSON\n"
    "  --help                   of pgflowctl, or of the command\n";

void help_print_all(void)
{
    printf("pgflowctl is the operator's tool for pgflow-host and its database.\n"
           "\n"
           "  pgflowctl COMMAND [ARGUMENTS] [OPTIONS]\n"
           "\n"
           "Commands (pgflowctl COMMAND --help tells more):\n");
    for (size_t i = 0; i < command_count; i++) {
        if (!command_table[i].hidden)
            printf("  %-12s %s\n", command_table[i].name, command_table[i].summary);
    }
    printf("\nOptions, before or after the command:\n%s"
           "  --version\n"
           "\n"
           "Exit status: 0 yes or done; 1 the answer is no; 64 wrong use; 69 no database;\n"
           "70 internal error; 78 wrong configuration (module, schema, rights).\n",
           shared_help);
}

void help_print_command(const struct command *command)
{
    printf("pgflowctl %s%s%s: %s\n\n%s", command->name, *command->arguments ? " " : "",
           command->arguments, command->summary, command->help);
    printf("\nOptions:\n");
    for (size_t i = 0; i < COMMAND_OPTIONS && command->options[i].name; i++) {
        const struct command_option *option = &command->options[i];
        char head[64];
        (void)snprintf(head, sizeof(head), "--%s%s%s", option->name, option->value_name ? " " : "",
                       option->value_name ? option->value_name : "");
        printf("  %-24s %s\n", head, option->help);
    }
    fputs(shared_help, stdout);
}
