/*
 * Copies for debuggers: <folder>/<build-id>/<file>, so that gdb finds the
 * symbols of what runs, and of a core file, whatever became of the source. No
 * runner maps them, and nothing depends on them.
 *
 * A copy that no host has used for a week goes at a later start. Removed is only
 * what is provably ours: in a folder that belongs to us and that nobody else can
 * write, a folder with a hex name, of ours, with our marker in it, and in that the
 * files. Links are never followed.
 */
#ifndef PGFLOW_MODULE_STORE_H
#define PGFLOW_MODULE_STORE_H

#include "module/module_bytes.h"
#include "module/module_file.h"

struct module_store {
    struct module_store_config config;
    char *folder; /* absolute; NULL: no copies are kept */
    int fd;       /* -1 then */
    char trouble[LIMIT_ERROR_TEXT];
};

/* The path of the copy, malloced. NULL: there is none, and module_store_trouble() says why, or that
 * none is wanted. */
char *module_store_keep(struct module_store *store, const char *build_id, const char *name,
                        const struct module_bytes *bytes);

/* The copy is in use: its week begins. `path` is of module_store_keep, or another's. */
void module_store_touch(const struct module_store *store, const char *path);

#endif
