/*
 * What a runner maps: the module and the libraries that it brings along, as
 * sealed files in memory. Their bytes are those that were checked and inspected,
 * for every runner there will ever be.
 */
#ifndef PGFLOW_MODULE_PARTS_H
#define PGFLOW_MODULE_PARTS_H

#include "module/module_file.h"
#include "module/module_needs.h"

/* What stands behind a module while it is opened. */
struct module_source {
    struct module_bytes bytes; /* sealed */
    struct elf_image image;
    struct module_needs needs;
};

/* Reads, checks, seals. `check_owner`: refuse what others can write. `source` may be closed in any
 * case. */
bool module_source_read(struct module_source *source, const char *path, bool check_owner,
                        struct error *error) MUST_CHECK;
/* Takes a zeroed struct. */
void module_source_close(struct module_source *source);

struct module_parts {
    struct module_part items[1 + LIMIT_MODULE_LIBRARIES]; /* the module first */
    size_t count;
};

/* Takes over the sealed files. Each is named after the file that it was read from, until
 * module_part_rename(). `parts` may be freed in any case. */
bool module_parts_take(struct module_parts *parts, struct module_source *source,
                       struct error *error) MUST_CHECK;
/* Takes over the malloced path. */
void module_part_rename(struct module_part *part, char *path);
/* Takes a zeroed struct. */
void module_parts_free(struct module_parts *parts);

#endif
