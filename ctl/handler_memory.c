/*
 * A handler's limit of memory; see handler_memory.h.
 */
#include "ctl/handler_memory.h"

#include "base/text_file.h"
#include "ctl/command.h"
#include "options/option_layer.h"
#include "options/option_value.h"

#include <stdlib.h>

static bool add_memory(struct option_layer *layer, const struct option_spec *spec,
                       const struct invocation *invocation, struct error *error)
{
    const char *given = invocation_value(invocation, spec->name);
    const char *path = invocation->config != NULL ? invocation->config : getenv("PGFLOW_CONFIG");
    struct buf text;
    if (given != NULL)
        return option_layer_add(layer, spec, "--handler-memory", given, error);
    given = getenv("PGFLOW_HANDLER_MEMORY");
    if (given != NULL)
        return option_layer_add(layer, spec, "PGFLOW_HANDLER_MEMORY", given, error);
    if (path == NULL)
        return true;
    buf_init(&text, LIMIT_CONFIG_FILE);
    bool ok = (text_file_read_trusted(path, &text, error) || error_wrap(error, "--config")) &&
              option_layer_read_config(layer, path, text.data, error);
    buf_free(&text);
    return ok;
}

bool handler_memory_mib(const struct invocation *invocation, size_t *mib, struct error *error)
{
    const struct option_spec *spec = option_find("handler-memory");
    struct option_layer layer;
    struct settings settings = {0};
    if (!option_layer_init(&layer, error))
        return false;
    bool ok = add_memory(&layer, spec, invocation, error);
    if (ok && option_layer_get(&layer, spec)->count == 0)
        option_value_default(&settings, spec);
    else if (ok)
        ok = option_value_store(&settings, spec, option_layer_get(&layer, spec), error);
    option_layer_finish(&layer);
    *mib = (size_t)settings.handler_memory;
    return ok;
}
