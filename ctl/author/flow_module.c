#include "ctl/author/flow_module.h"

#include "ctl/module_descriptor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slugs and aliases are plain: the registry has checked the descriptor. */
static void copy_slug(char *out, struct json_view module, const char *name)
{
    struct json_view value;
    out[0] = '\0';
    if (json_view_member(module, name, &value) && value.size >= 2 && value.size - 2 <= LIMIT_SLUG)
        (void)snprintf(out, LIMIT_SLUG + 1, "%.*s", (int)value.size - 2, value.text + 1);
}

bool flow_module_read(struct flow_module *module, const char *path, struct error *error)
{
    module->descriptor = module_descriptor_read(path, error);
    if (module->descriptor == NULL)
        return false;
    if (!json_view_open(&module->view, module->descriptor, strlen(module->descriptor), error))
        return error_wrap(error, "%s", path);
    copy_slug(module->flow, module->view, "flowSlug");
    copy_slug(module->alias, module->view, "alias");
    return true;
}

void flow_module_free(struct flow_module *module)
{
    free(module->descriptor);
}

bool flow_module_check_related(const struct flow_module *old, const struct flow_module *new,
                               struct error *error)
{
    if (strcmp(old->flow, new->flow) == 0 || strcmp(old->alias, new->alias) == 0)
        return true;
    return error_set(
        error, ERROR_USAGE,
        "%s (alias %s) and %s (alias %s) are no versions of one flow: give two modules "
        "of one slug or alias",
        old->flow, old->alias, new->flow, new->alias);
}
