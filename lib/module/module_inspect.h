/*
 * The throw-away runner, for module_file.c; module_inspect() of module_file.h is
 * its public face.
 */
#ifndef PGFLOW_MODULE_INSPECT_H
#define PGFLOW_MODULE_INSPECT_H

#include "module/module_file.h"

struct module_inspect_request {
    int runner_program;
    const struct module_part *parts; /* the module, then its libraries */
    size_t count;
    uid_t uid; /* (uid_t)-1: the host's */
    gid_t gid;
    const char *const *pass_env;
    struct module_stop stop;
};

/* The descriptor's JSON text, to be freed with free(). NULL: error, which does
 * not name the file. */
char *module_inspect_parts(const struct module_inspect_request *request, size_t *size,
                           struct error *error) MUST_CHECK;

#endif
