/*
 * Reading a module's descriptor; see module_descriptor.h.
 */
#include "ctl/module_descriptor.h"

#include "supervise/module_file.h"

#include <stddef.h>
#include <unistd.h>

char *module_descriptor_read(const char *path, struct error *error)
{
    size_t size = 0;
    int program = runner_program_open(NULL, error);
    if (program < 0)
        return NULL;
    char *descriptor = module_inspect(program, path, &size, error);
    (void)close(program);
    return descriptor;
}
