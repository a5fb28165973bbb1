/*
 * Whole files; see text_file.h.
 */
#include "base/text_file.h"

#include "base/file_trust.h"
#include "base/limits.h"

#include <errno.h>
#include <string.h>

bool text_file_read_stream(FILE *file, const char *name, struct buf *text, struct error *error)
{
    char piece[16384];
    size_t size = 0;
    errno = 0;
    while (buf_ok(text) && (size = fread(piece, 1, sizeof piece, file)) > 0)
        buf_put(text, piece, size);
    if (ferror(file))
        return error_set(error, ERROR_USAGE, "cannot read '%s': %s", name, strerror(errno));
    return buf_ok(text) || error_set(error, ERROR_USAGE, "'%s' is longer than %zu MiB", name,
                                     text->maximum / LIMIT_MIB);
}

static bool read_path(const char *path, bool trusted, struct buf *text, struct error *error)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return error_set(error, ERROR_USAGE, "cannot open '%s': %s", path, strerror(errno));
    bool read = (!trusted || file_trust_check_open(fileno(file), error)) &&
                text_file_read_stream(file, path, text, error);
    (void)fclose(file);
    return read;
}

bool text_file_read(const char *path, struct buf *text, struct error *error)
{
    return read_path(path, false, text, error);
}

bool text_file_read_trusted(const char *path, struct buf *text, struct error *error)
{
    return read_path(path, true, text, error);
}
