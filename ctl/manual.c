/*
 * Makes a manual page: a page on stdin, to stdout, with the options and commands in
 * place of its lines @HOST_OPTIONS@, @CTL_COMMANDS@ and @CTL_OPTIONS@. For the build
 * alone; the tables are those of --help, so that no page can lack an option.
 */
#include "ctl/command.h"
#include "options/option_table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool ends_sentence(const char *text, size_t i)
{
    return i > 0 && text[i] == ' ' && strchr(".?!", text[i - 1]) != NULL;
}

/* Text between macros. A line of it must not look like a macro, and two dashes are
 * two dashes. Where it is `filled`, a sentence begins a line: the formatter sets the
 * space between the two. */
static void put_text(const char *text, size_t size, bool filled)
{
    for (size_t i = 0; i < size; i++) {
        bool at_start = i == 0 || text[i - 1] == '\n';
        if (filled && ends_sentence(text, i)) {
            (void)putchar('\n');
            continue;
        }
        if (at_start && (text[i] == '.' || text[i] == '\''))
            (void)fputs("\\&", stdout);
        if (text[i] == '\\')
            (void)fputs("\\e", stdout);
        else if (text[i] == '-')
            (void)fputs("\\-", stdout);
        else
            (void)putchar(text[i]);
    }
    if (size == 0 || text[size - 1] != '\n')
        (void)putchar('\n');
}

static void put_option(const char *name, const char *value_name)
{
    printf(".It Fl \\-%s%s", name, value_name != NULL ? " Ar \"" : "");
    printf(value_name != NULL ? "%s\"\n" : "\n", value_name);
}

static void put_host_option(const struct option_spec *spec)
{
    if (spec->section != NULL)
        printf(".El\n.Ss %s\n.Bl -tag -width Ds\n", spec->section);
    put_option(spec->name, spec->value_name);
    put_text(spec->help, strlen(spec->help), true);
    if (spec->kind == OPTION_NUMBER && spec->fallback > 0)
        printf("The default is %d.\n", spec->fallback);
    else if (spec->kind == OPTION_CHOICE)
        printf("The default is %s.\n", spec->choices[spec->fallback]);
}

/* The first section closes a list, so one is open before it. */
static void put_host_options(void)
{
    printf(".Bl -tag -width Ds\n.It Fl \\-Ns Ar NAME Ns = Ns Ar VALUE\n"
           "The same as\n.Fl \\-Ns Ar NAME VALUE .\n");
    for (size_t i = 0; i < option_count; i++)
        put_host_option(&option_table[i]);
    printf(".El\n");
}

/* Paragraphs; one with columns stays as it is. */
static void put_paragraphs(const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t size = end != NULL ? (size_t)(end - text) + 1 : strlen(text);
        char copy[2048];
        (void)snprintf(copy, sizeof copy, "%.*s", (int)size, text);
        bool columns = strstr(copy, "  ") != NULL;
        printf(columns ? ".Bd -literal\n" : ".Pp\n");
        put_text(copy, strlen(copy), !columns);
        if (columns)
            printf(".Ed\n");
        text += size + (end != NULL ? 1 : 0);
    }
}

static void put_command(const struct command *command)
{
    printf(".It Cm %s", command->name);
    printf(*command->arguments ? " Ar \"%s\"\n" : "\n", command->arguments);
    (void)putchar(toupper((unsigned char)command->summary[0]));
    put_text(command->summary + 1, strlen(command->summary) - 1, true);
    put_paragraphs(command->help);
    if (command->options[0].name != NULL)
        printf(".Bl -tag -width Ds\n");
    for (size_t i = 0; i < COMMAND_OPTIONS && command->options[i].name != NULL; i++) {
        put_option(command->options[i].name, command->options[i].value_name);
        put_text(command->options[i].help, strlen(command->options[i].help), true);
    }
    if (command->options[0].name != NULL)
        printf(".El\n");
    printf(".Bd -literal -offset indent\n");
    put_text(command->examples, strlen(command->examples), false);
    printf(".Ed\n");
}

static void put_commands(void)
{
    printf(".Bl -tag -width Ds\n");
    for (size_t i = 0; i < command_count; i++) {
        if (!command_table[i]->hidden)
            put_command(command_table[i]);
    }
    printf(".El\n");
}

static void put_shared_options(void)
{
    printf(".Bl -tag -width Ds\n");
    for (size_t i = 0; i < command_shared_option_count; i++) {
        put_option(command_shared_options[i].name, command_shared_options[i].value_name);
        put_text(command_shared_options[i].help, strlen(command_shared_options[i].help), true);
    }
    printf(".El\n");
}

int main(void)
{
    char line[4096];
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strcmp(line, "@HOST_OPTIONS@\n") == 0)
            put_host_options();
        else if (strcmp(line, "@CTL_COMMANDS@\n") == 0)
            put_commands();
        else if (strcmp(line, "@CTL_OPTIONS@\n") == 0)
            put_shared_options();
        else
            (void)fputs(line, stdout);
    }
    return ferror(stdin) || fflush(stdout) != 0;
}
