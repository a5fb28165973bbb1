/*
 * Sealed files of a module; see module_parts.h.
 */
#include "module/module_parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool module_source_read(struct module_source *source, const char *path, bool check_owner,
                        struct error *error)
{
    struct module_bytes *bytes = &source->bytes;

    return module_bytes_open_sealed(bytes, path, error) &&
           (!check_owner || module_bytes_check_owner(bytes, error)) &&
           elf_image_read(&source->image, bytes->data, bytes->size, error) &&
           module_needs_read(&source->needs, bytes, check_owner, error);
}

void module_source_close(struct module_source *source)
{
    module_bytes_close(&source->bytes);
    module_needs_free(&source->needs);
}

static bool take(struct module_parts *parts, struct module_bytes *bytes)
{
    struct module_part *part = &parts->items[parts->count];

    part->path = strdup(bytes->real_path);
    if (part->path == NULL)
        return false;
    part->fd = module_bytes_take_fd(bytes);
    parts->count++;
    return true;
}

bool module_parts_take(struct module_parts *parts, struct module_source *source,
                       struct error *error)
{
    bool ok = take(parts, &source->bytes);

    for (size_t i = 0; i < source->needs.count && ok; i++)
        ok = take(parts, &source->needs.items[i].bytes);
    return ok || error_out_of_memory(error);
}

void module_part_rename(struct module_part *part, char *path)
{
    free(part->path);
    part->path = path;
}

void module_parts_free(struct module_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        (void)close(parts->items[i].fd);
        free(parts->items[i].path);
    }
    parts->count = 0;
}
