/*
 * Completion from the tables of options and commands.
 */
#include "ctl/complete.h"

#include "ctl/command.h"
#include "options/option_table.h"

#include <stdio.h>
#include <string.h>

/* What the values of options that have no list of words are. */
static const struct {
    const char *option, *specification;
} host_values[] = {
    {"queue", "LITERAL"},     {"plugin", "FILE.so"}, {"function", "FUNCTION"},
    {"module-dir", "FOLDER"}, {"config", "FILE"},
};

static bool is_named(const char *name, const char *wanted, size_t size)
{
    return strlen(name) == size && strncmp(name, wanted, size) == 0;
}

/* The words of a choice as a specification; valid until the next call. */
static const char *choice_value(const struct option_spec *spec)
{
    static char words[128];
    size_t size = 0;
    for (const char *const *word = spec->choices; *word != NULL && size < sizeof words; word++)
        size +=
            (size_t)snprintf(words + size, sizeof words - size, "%s%s", size > 0 ? "|" : "", *word);
    return words;
}

static const char *host_option_value(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof host_values / sizeof host_values[0]; i++) {
        if (is_named(host_values[i].option, name, size))
            return host_values[i].specification;
    }
    for (size_t i = 0; i < option_count; i++) {
        if (is_named(option_table[i].name, name, size))
            return option_table[i].choices != NULL ? choice_value(&option_table[i])
                                                   : option_table[i].value_name;
    }
    return "";
}

const char *complete_option_value(const struct completion *completion, const char *name,
                                  size_t size)
{
    const struct command *command = completion->command;
    if (completion->is_host)
        return host_option_value(name, size);
    for (size_t i = 0; i < command_shared_option_count; i++) {
        if (is_named(command_shared_options[i].name, name, size))
            return command_shared_options[i].value_name;
    }
    for (size_t i = 0; command != NULL && i < COMMAND_OPTIONS && command->options[i].name != NULL;
         i++) {
        if (is_named(command->options[i].name, name, size))
            return command->options[i].value_name;
    }
    return "";
}

static bool is_given(const struct completion *completion, const char *name)
{
    for (size_t i = 0; i < completion->given_count; i++) {
        const char *word = completion->given[i] + 2;
        if (is_named(name, word, strcspn(word, "=")))
            return true;
    }
    return false;
}

static void offer(const struct completion *completion, const char *name, const char *about)
{
    char word[64];
    (void)snprintf(word, sizeof word, "--%s", name);
    complete_one(completion, word, about);
}

void complete_options(const struct completion *completion)
{
    const struct command *command = completion->command;
    for (size_t i = 0; completion->is_host && i < option_count; i++) {
        if (option_table[i].kind == OPTION_LIST || !is_given(completion, option_table[i].name))
            offer(completion, option_table[i].name, option_table[i].help);
    }
    if (completion->is_host)
        return;
    for (size_t i = 0; command != NULL && i < COMMAND_OPTIONS && command->options[i].name != NULL;
         i++) {
        if (!is_given(completion, command->options[i].name))
            offer(completion, command->options[i].name, command->options[i].help);
    }
    for (size_t i = 0; i < command_shared_option_count; i++) {
        if (!is_given(completion, command_shared_options[i].name))
            offer(completion, command_shared_options[i].name, command_shared_options[i].help);
    }
}

void complete_commands(const struct completion *completion)
{
    for (size_t i = 0; i < command_count; i++) {
        if (!command_table[i]->hidden)
            complete_one(completion, command_table[i]->name, command_table[i]->summary);
    }
}
