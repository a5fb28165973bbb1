/*
 * Reading the command line of pgflowctl. The first word that is no option is
 * the command; shared options may stand on either side of it.
 */
#include "ctl/command.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const char *const shared_names[] = {"database", "config", "json", "help", "version"};
enum { SHARED_OPTIONS = sizeof shared_names / sizeof shared_names[0] };

/* What is left to read. */
struct reader {
    struct invocation *invocation;
    char *const *argv;   /* the next word */
    bool only_arguments; /* "--" was read */
};

static bool unknown_option(const struct command *command, const char *name, size_t size,
                           struct error *error)
{
    const char *names[SHARED_OPTIONS + COMMAND_OPTIONS];
    char copy[64];
    size_t count = 0;
    for (size_t i = 0; i < SHARED_OPTIONS; i++)
        names[count++] = shared_names[i];
    for (size_t i = 0; command != NULL && i < COMMAND_OPTIONS && command->options[i].name != NULL;
         i++)
        names[count++] = command->options[i].name;
    (void)text_clean(copy, sizeof copy, name, size);
    const char *near = text_nearest(copy, names, count);
    if (near != NULL)
        return error_set(error, ERROR_USAGE, "unknown option '--%s'; did you mean '--%s'?", copy,
                         near);
    return error_set(error, ERROR_USAGE, "unknown option '--%s'; pgflowctl %s--help lists all",
                     copy, command != NULL ? "COMMAND " : "");
}

/* Behind "=", or the next word. */
static const char *take_value(struct reader *reader, const char *equals, const char *name,
                              struct error *error)
{
    if (equals != NULL)
        return equals + 1;
    if (*reader->argv != NULL)
        return *reader->argv++;
    (void)error_set(error, ERROR_USAGE, "option '--%s' needs a value", name);
    return NULL;
}

static bool read_shared(struct reader *reader, const char *name, size_t size, const char *equals,
                        bool *known, struct error *error)
{
    struct invocation *invocation = reader->invocation;
    size_t which = 0;
    while (which < SHARED_OPTIONS &&
           (strlen(shared_names[which]) != size || strncmp(shared_names[which], name, size) != 0))
        which++;
    *known = which < SHARED_OPTIONS;
    if (!*known)
        return true;
    const char **text = which == 0 ? &invocation->database : &invocation->config;
    bool *flag = which == 2   ? &invocation->json
                 : which == 3 ? &invocation->help
                              : &invocation->version;
    if (which >= 2 && equals != NULL)
        return error_set(error, ERROR_USAGE, "option '--%s' takes no value", shared_names[which]);
    if (which >= 2)
        *flag = true;
    else
        *text = take_value(reader, equals, shared_names[which], error);
    return which >= 2 || *text != NULL;
}

static bool read_option(struct reader *reader, const char *word, struct error *error)
{
    struct invocation *invocation = reader->invocation;
    const char *name = word + 2;
    const char *equals = strchr(name, '=');
    size_t size = equals != NULL ? (size_t)(equals - name) : strlen(name);
    bool known = false;
    if (!read_shared(reader, name, size, equals, &known, error))
        return false;
    if (known)
        return true;
    size_t index = invocation_option_index(invocation->command, name, size);
    if (index == COMMAND_OPTIONS)
        return unknown_option(invocation->command, name, size, error);
    const struct command_option *option = &invocation->command->options[index];
    if (invocation->values[index] != NULL)
        return error_set(error, ERROR_USAGE, "option '--%s' is given twice", option->name);
    if (option->value_name == NULL && equals != NULL)
        return error_set(error, ERROR_USAGE, "option '--%s' takes no value", option->name);
    invocation->values[index] =
        option->value_name != NULL ? take_value(reader, equals, option->name, error) : "";
    return invocation->values[index] != NULL;
}

static bool read_word(struct reader *reader, const char *word, struct error *error)
{
    struct invocation *invocation = reader->invocation;
    if (invocation->command == NULL && strcmp(word, "help") == 0) {
        invocation->help = true;
        return true;
    }
    if (invocation->command == NULL) {
        invocation->command = command_find(word);
        return invocation->command != NULL || command_unknown(word, error);
    }
    if (invocation->count == INVOCATION_ARGUMENTS)
        return error_set(error, ERROR_USAGE, "more than %d arguments", INVOCATION_ARGUMENTS);
    invocation->arguments[invocation->count++] = word;
    return true;
}

static bool read_next(struct reader *reader, struct error *error)
{
    const char *word = *reader->argv++;
    if (reader->only_arguments || *word != '-' || strcmp(word, "-") == 0)
        return read_word(reader, word, error);
    if (strcmp(word, "--") == 0) {
        reader->only_arguments = true;
        return true;
    }
    if (strcmp(word, "-h") == 0) {
        reader->invocation->help = true;
        return true;
    }
    if (word[1] != '-')
        return error_set(error, ERROR_USAGE, "unknown option '%s'; options begin with two dashes",
                         text_shown(word));
    return read_option(reader, word, error);
}

static bool check_arguments(const struct invocation *invocation, struct error *error)
{
    const struct command *command = invocation->command;
    if (command == NULL || invocation->help || invocation->version)
        return true;
    if (invocation->count >= command->least && invocation->count <= command->most)
        return true;
    return error_set(error, ERROR_USAGE, "%s: usage: pgflowctl %s %s",
                     invocation->count < command->least ? "an argument is missing"
                                                        : "too many arguments",
                     command->name, command->arguments);
}

bool invocation_read(struct invocation *invocation, int argc, char *const argv[],
                     struct error *error)
{
    struct reader reader = {.invocation = invocation, .argv = argv + (argc > 0)};
    *invocation = (struct invocation){.command = NULL};
    while (*reader.argv != NULL) {
        if (!read_next(&reader, error))
            return false;
    }
    if (invocation->command == NULL && !invocation->help && !invocation->version)
        return error_set(error, ERROR_USAGE, "a command is missing; pgflowctl --help lists all");
    return check_arguments(invocation, error);
}
