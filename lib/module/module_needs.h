/*
 * The libraries that a module brings along: what it needs (DT_NEEDED) and a run
 * path finds, its own or that of what needs it. Each becomes a sealed file, which
 * runners map before the module; the loader knows it by its SONAME from then on.
 *
 * The system's are left to the loader: what no run path finds, and what one
 * finds by an absolute folder where root alone can change it. So is glibc, which
 * every runner has already.
 */
#ifndef PGFLOW_MODULE_NEEDS_H
#define PGFLOW_MODULE_NEEDS_H

#include "module/module_bytes.h"
#include "wire/runner_fds.h"

enum { LIMIT_MODULE_LIBRARIES = RUNNER_LIBRARIES };

struct module_library {
    struct module_bytes bytes; /* sealed */
    char *name;                /* as DT_NEEDED has it, which is its SONAME */
};

struct module_needs {
    struct module_library items[LIMIT_MODULE_LIBRARIES]; /* each after those it needs */
    size_t count;
};

/* Reads them all, those of the libraries too. `check_owner`: as for the module
 * itself. Refused, by name and with the remedy: a library without SONAME or with
 * another one, one that is needed by a path, libraries that need each other.
 * `needs` may be freed in any case. */
bool module_needs_read(struct module_needs *needs, const struct module_bytes *module,
                       bool check_owner, struct error *error) MUST_CHECK;
/* Takes a zeroed struct. */
void module_needs_free(struct module_needs *needs);

#endif
