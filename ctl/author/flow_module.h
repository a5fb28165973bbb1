/*
 * The descriptor of a module file as a view of its JSON, for comparisons.
 */
#ifndef PGFLOW_CTL_AUTHOR_FLOW_MODULE_H
#define PGFLOW_CTL_AUTHOR_FLOW_MODULE_H

#include "base/error.h"
#include "base/json_view.h"
#include "base/limits.h"

#include <stdbool.h>

/* Zeroed before. */
struct flow_module {
    char *descriptor;
    struct json_view view; /* of it */
    char flow[LIMIT_SLUG + 1], alias[LIMIT_SLUG + 1];
};

/* By a throw-away runner. The error names the file. */
bool flow_module_read(struct flow_module *module, const char *path, struct error *error) MUST_CHECK;
/* Takes a zeroed struct. */
void flow_module_free(struct flow_module *module);

/* One slug or one alias; else ERROR_USAGE, with both. */
bool flow_module_check_related(const struct flow_module *old, const struct flow_module *new,
                               struct error *error) MUST_CHECK;

#endif
