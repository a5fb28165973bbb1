/*
 * Reading JSON that the command line names; see json_option.h.
 */
#include "ctl/json_option.h"

#include "base/json_check.h"
#include "ctl/command.h"

#include <stdio.h>
#include <string.h>

static bool read_stream(FILE *file, const char *name, struct buf *text, struct error *error)
{
    char piece[65536];
    size_t n = 0;
    while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
        buf_put(text, piece, n);
    if (ferror(file))
        return error_set(error, ERROR_USAGE, "'%s' cannot be read", name);
    if (!buf_ok(text))
        return error_set(error, ERROR_USAGE, "'%s' is larger than %d MiB", name,
                         LIMIT_PAYLOAD_MAX_MIB);
    return true;
}

static bool read_file(const char *path, struct buf *text, struct error *error)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return error_set(error, ERROR_USAGE, "file '%s' cannot be opened", path);
    bool read = read_stream(file, path, text, error);
    (void)fclose(file);
    return read;
}

static bool read_given(const char *given, struct buf *text, struct error *error)
{
    if (strcmp(given, "-") == 0)
        return read_stream(stdin, "-", text, error);
    if (given[0] == '@')
        return read_file(given + 1, text, error);
    buf_puts(text, given);
    return buf_ok(text) || error_out_of_memory(error);
}

/* A shell makes it easy to give text that is no JSON, so it is checked here,
 * where the byte can be named. */
bool json_option_read(const struct invocation *invocation, const char *name, const char *otherwise,
                      struct buf *text, struct error *error)
{
    const char *given = invocation_value(invocation, name);
    return (read_given(given ? given : otherwise, text, error) &&
            json_check_text(text->data, text->size, error)) ||
           error_wrap(error, "--%s", name);
}
