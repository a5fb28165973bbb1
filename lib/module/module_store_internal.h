/*
 * Between the files of the store of copies.
 */
#ifndef PGFLOW_MODULE_STORE_INTERNAL_H
#define PGFLOW_MODULE_STORE_INTERNAL_H

#include "module/module_store.h"

/* In each folder of copies that we made. */
#define STORE_MARK ".pgflow-copy"

/* Hex digits of a build-id that names a folder. */
enum { STORE_SHORTEST_ID = 16 };

/* Folder and descriptor of the store. False: there is no folder that can be used. */
bool module_store_open_folder(struct module_store *store, struct error *error) MUST_CHECK;
/* Removes what no host has used for a week. */
void module_store_tidy(const struct module_store *store);

/* Is it a folder, ours, that nobody else can write? */
bool module_store_is_ours(int fd);

#endif
