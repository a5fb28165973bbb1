/*
 * The libraries that a module brings along: what it needs (DT_NEEDED) and its
 * run path finds relative to itself ($ORIGIN). Libraries of the system are left
 * to the dynamic loader.
 */
#ifndef PGFLOW_MODULE_MODULE_NEEDS_H
#define PGFLOW_MODULE_MODULE_NEEDS_H

#include "module/module_bytes.h"

enum { LIMIT_MODULE_LIBRARIES = 64 };

struct module_library {
    struct module_bytes bytes;
    char *name; /* where its copy goes, relative to the module's copy */
};

struct module_needs {
    struct module_library items[LIMIT_MODULE_LIBRARIES]; /* each after those it needs */
    size_t count;
};

/* Reads them all, those of the libraries too. `check_owner`: as for the module
 * itself. Errors name the library. `needs` may be freed in any case. */
bool module_needs_read(struct module_needs *needs, const struct module_bytes *module,
                       bool check_owner, struct error *error) MUST_CHECK;
/* Takes a zeroed struct. */
void module_needs_free(struct module_needs *needs);

#endif
