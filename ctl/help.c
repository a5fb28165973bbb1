/*
 * The help of pgflowctl, made from the table of commands.
 */
#include "ctl/command.h"

#include <stdio.h>
#include <string.h>

static void print_option(const struct command_option *option)
{
    char head[64];
    (void)snprintf(head, sizeof head, "--%s%s%s", option->name,
                   option->value_name != NULL ? " " : "",
                   option->value_name != NULL ? option->value_name : "");
    printf("  %-24s %s\n", head, option->help);
}

static void print_shared_options(void)
{
    for (size_t i = 0; i < command_shared_option_count; i++)
        print_option(&command_shared_options[i]);
}

static void print_examples(const char *lines)
{
    printf("\nExamples:\n");
    while (*lines) {
        int size = (int)strcspn(lines, "\n");
        printf("  %.*s\n", size, lines);
        lines += size + 1;
    }
}

void help_print_all(void)
{
    printf("pgflowctl is the operator's tool for pgflow-host and its database.\n"
           "\n"
           "  pgflowctl COMMAND [ARGUMENTS] [OPTIONS]\n"
           "\n"
           "Commands (pgflowctl COMMAND --help tells more):\n");
    for (size_t i = 0; i < command_count; i++) {
        if (!command_table[i]->hidden)
            printf("  %-12s %s\n", command_table[i]->name, command_table[i]->summary);
    }
    printf("\nOptions, before or after the command:\n");
    print_shared_options();
    printf("\n"
           "Exit status: 0 yes or done; 1 the answer is no; 64 wrong use; 69 no database;\n"
           "70 internal error; 78 wrong configuration (module, schema, rights).\n");
    print_examples("pgflowctl migrate\n"
                   "pgflowctl start audit --input '{\"path\": \"/usr\"}' --wait\n"
                   "pgflowctl runs --flow audit --watch\n"
                   "pgflowctl doctor\n");
}

void help_print_command(const struct command *command)
{
    printf("pgflowctl %s%s%s: %s\n\n%s", command->name, *command->arguments ? " " : "",
           command->arguments, command->summary, command->help);
    printf("\nOptions:\n");
    for (size_t i = 0; i < COMMAND_OPTIONS && command->options[i].name != NULL; i++)
        print_option(&command->options[i]);
    print_shared_options();
    print_examples(command->examples);
}
