/*
 * The folder of private copies: <folder>/<digest>/<file>, read-only, one locked
 * descriptor (shared flock) for each copy in use. Whoever changes the store
 * holds an exclusive flock on the folder itself. module_file.h says the rest.
 */
#ifndef PGFLOW_MODULE_MODULE_STORE_H
#define PGFLOW_MODULE_MODULE_STORE_H

#include "module/module_bytes.h"
#include "module/module_file.h"

struct module_store {
    struct module_store_config config;
    char *folder; /* absolute */
    int fd;
};

/* One file of a copy. */
struct store_item {
    const char *name; /* below the copy's folder; may contain slashes, never ".." */
    const struct module_bytes *bytes;
};

/* Puts the items into <folder>/<digest>, unless they are there unchanged, and
 * locks it. The descriptor is the caller's; closing it unlocks. -1: error. */
int module_store_install(struct module_store *store, const char *digest,
                         const struct store_item *items, size_t count,
                         struct error *error) MUST_CHECK;

#endif
