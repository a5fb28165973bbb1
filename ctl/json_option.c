/*
 * Reading JSON that the command line names; see json_option.h.
 */
#include "ctl/json_option.h"

#include "base/json_check.h"
#include "base/text_file.h"
#include "ctl/command.h"

#include <stdio.h>
#include <string.h>

static bool read_given(const char *given, struct buf *text, struct error *error)
{
    if (strcmp(given, "-") == 0)
        return text_file_read_stream(stdin, "-", text, error);
    if (given[0] == '@')
        return text_file_read(given + 1, text, error);
    buf_puts(text, given);
    return buf_ok(text) || error_out_of_memory(error);
}

/* A shell makes it easy to give text that is no JSON, so it is checked here,
 * where the byte can be named. */
bool json_option_read(const struct invocation *invocation, const char *name, const char *otherwise,
                      struct buf *text, struct error *error)
{
    const char *given = invocation_value(invocation, name);
    return (read_given(given != NULL ? given : otherwise, text, error) &&
            json_check_text(text->data, text->size, error)) ||
           error_wrap(error, "--%s", name);
}
