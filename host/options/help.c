#include "options/options.h"

#include <stdio.h>
#include <string.h>

#include "options/option_table.h"

enum { HELP_COLUMN = 28, HELP_WIDTH = 96 };

static const char introduction[] =
    "pgflow-host serves one queue of a Postgres workflow installation: it loads flow modules,\n"
    "claims their tasks and runs each handler in a process of its own.\n"
    "\n"
    "  pgflow-host [--queue NAME] --plugin FILE... [OPTIONS]\n"
    "\n"
    "Every option can also be set as PGFLOW_NAME in the environment (PGFLOW_BATCH_SIZE=5; lists\n"
    "are split at ':') or as `name = value` in the --config file. The command line wins over the\n"
    "environment, that over the file; a list given in one place replaces the one below.\n";

static const char closing[] =
    "\n"
    "Signals: SIGTERM, SIGINT or SIGHUP finish what runs and exit; a second one stops at once;\n"
    "SIGUSR1 logs the state.\n"
    "Exit status: 0 stopped as asked; 64 wrong use; 69 no database; 70 internal error;\n"
    "78 wrong configuration (module, route, coverage, shape, schema, rights).\n"
    "\n"
    "Examples\n"
    "  One flow on its own queue:\n"
    "    pgflow-host --plugin ./hello.so --database postgres:///app\n"
    "  Two versions on one queue while the old one drains:\n"
    "    pgflow-host --queue audit --plugin ./audit_v1.so --plugin ./audit_v2.so\n"
    "  What a start would do, before it is done:\n"
    "    pgflow-host --config /etc/pgflow/audit.conf --check\n"
    "  Until the queue is empty, four handlers at once:\n"
    "    pgflow-host --plugin ./hello.so --concurrency 4 --exit-when-idle 5\n";

static void print_wrapped(const char *text)
{
    int column = HELP_COLUMN;

    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + length > HELP_WIDTH) {
            printf("\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        }
        column += printf("%s%.*s", column > HELP_COLUMN ? " " : "", length, text);
        text += length + (text[length] == ' ');
    }
}

/* The help with the default behind it, so that both are wrapped as one. */
static void describe(const struct option_spec *spec, char *text, size_t size)
{
    if (spec->kind == OPTION_NUMBER && spec->fallback > 0)
        snprintf(text, size, "%s (default: %d)", spec->help, spec->fallback);
    else if (spec->kind == OPTION_CHOICE)
        snprintf(text, size, "%s (default: %s)", spec->help, spec->choices[spec->fallback]);
    else
        snprintf(text, size, "%s", spec->help);
}

static void print_option(const struct option_spec *spec)
{
    char head[80], text[512];

    if (spec->section != NULL)
        printf("\n%s\n", spec->section);
    snprintf(head, sizeof head, "  --%s%s%s", spec->name, spec->value_name == NULL ? "" : " ",
             spec->value_name == NULL ? "" : spec->value_name);
    if (strlen(head) + 2 > HELP_COLUMN)
        printf("%s\n%*s", head, HELP_COLUMN, "");
    else
        printf("%-*s", HELP_COLUMN, head);
    describe(spec, text, sizeof text);
    print_wrapped(text);
    printf("\n");
}

void options_print_help(void)
{
    (void)fputs(introduction, stdout);
    for (size_t i = 0; i < option_count; i++)
        print_option(&option_table[i]);
    (void)fputs(closing, stdout);
}
