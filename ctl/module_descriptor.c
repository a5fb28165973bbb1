/*
 * Reading a module's descriptor; see module_descriptor.h.
 */
#include "ctl/module_descriptor.h"

#include "module/module_file.h"
#include "registry/registry.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

bool module_descriptor_check(const char *path, const char *descriptor, struct error *error)
{
    struct registry_module module = {
        .file = path, .descriptor = descriptor, .sha256 = "", .build_id = ""};
    struct registry *registry = registry_create(error);
    bool good = registry != NULL && registry_add(registry, &module, error);
    registry_destroy(registry);
    return good;
}

static char *read_descriptor(const char *path, bool check_owner, struct error *error)
{
    size_t size = 0;
    int program = runner_program_open(NULL, error);
    if (program < 0)
        return NULL;
    char *descriptor = module_inspect(program, path, check_owner, &size, error);
    (void)close(program);
    if (descriptor != NULL && !module_descriptor_check(path, descriptor, error)) {
        free(descriptor);
        descriptor = NULL;
    }
    return descriptor;
}

char *module_descriptor_read(const char *path, struct error *error)
{
    return read_descriptor(path, false, error);
}

char *module_descriptor_read_trusted(const char *path, struct error *error)
{
    return read_descriptor(path, true, error);
}
