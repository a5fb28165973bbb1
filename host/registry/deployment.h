/*
 * Reads the descriptor document of one module into a struct deployment. Private to the registry.
 */
#ifndef PGFLOW_REGISTRY_DEPLOYMENT_H
#define PGFLOW_REGISTRY_DEPLOYMENT_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "base/error.h"
#include "registry/registry.h"

/* A deployment and the parsed document that its texts live in. */
struct deployment_entry {
    struct deployment deployment;
    cJSON *json;
};

/* `entry` is zeroed before and finished after, also when this fails. The document was printed by a
 * process that maps foreign code, so nothing in it is believed. */
bool deployment_read(struct deployment_entry *entry, const struct registry_module *module,
                     struct error *error) MUST_CHECK;
void deployment_finish(struct deployment_entry *entry);

#endif
