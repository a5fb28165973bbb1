/*
 * The throw-away runner, for module_file.c; module_inspect() of module_file.h is
 * its public face.
 */
#ifndef PGFLOW_MODULE_MODULE_INSPECT_H
#define PGFLOW_MODULE_MODULE_INSPECT_H

#include "module/module_file.h"

struct module_inspect_request {
    int runner_program;
    const char *path;                /* absolute */
    const char *const *dependencies; /* loaded first; NULL-terminated, may be NULL */
    uid_t uid;                       /* (uid_t)-1: the host's */
    gid_t gid;
    const char *const *pass_env;
    struct module_stop stop;
};

/* The descriptor's JSON text, to be freed with free(). NULL: error, which does
 * not name the file. */
char *module_inspect_file(const struct module_inspect_request *request, size_t *size,
                          struct error *error) MUST_CHECK;

#endif
