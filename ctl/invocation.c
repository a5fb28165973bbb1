/*
 * What was given on the command line, as the commands ask for it.
 */
#include "ctl/command.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

size_t invocation_option_index(const struct command *command, const char *name, size_t size)
{
    for (size_t i = 0; command != NULL && i < COMMAND_OPTIONS && command->options[i].name != NULL;
         i++) {
        if (strlen(command->options[i].name) == size &&
            strncmp(command->options[i].name, name, size) == 0)
            return i;
    }
    return COMMAND_OPTIONS;
}

const char *invocation_value(const struct invocation *invocation, const char *option)
{
    size_t index = invocation_option_index(invocation->command, option, strlen(option));
    return index < COMMAND_OPTIONS ? invocation->values[index] : NULL;
}

bool invocation_number(const struct invocation *invocation, const char *option, int least, int most,
                       int fallback, int *number, struct error *error)
{
    const char *text = invocation_value(invocation, option);
    char *end = NULL;
    *number = fallback;
    if (text == NULL)
        return true;
    long value = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value < least || value > most)
        return error_set(error, ERROR_USAGE, "--%s '%s': give a whole number from %d to %d", option,
                         text_shown(text), least, most);
    *number = (int)value;
    return true;
}
