#include "registry/registry.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "registry/deployment.h"
#include "registry/pair_index.h"
#include "registry/routes.h"

struct registry {
    struct deployment_entry *entries[LIMIT_MODULES]; /* by pointer: steps point back */
    size_t count;
    char queue[LIMIT_QUEUE_NAME + 1];
    struct pair_index index;
};

struct registry *registry_create(struct error *error)
{
    struct registry *registry = calloc(1, sizeof *registry);

    if (registry == NULL)
        (void)error_out_of_memory(error);
    return registry;
}

void registry_destroy(struct registry *registry)
{
    if (registry == NULL)
        return;
    for (size_t i = 0; i < registry->count; i++) {
        deployment_finish(registry->entries[i]);
        free(registry->entries[i]);
    }
    pair_index_finish(&registry->index);
    free(registry);
}

/* The database compares slugs ignoring case, so two spellings are the same flow twice. */
static bool refuse_duplicate(const struct registry *registry, const struct deployment *added,
                             struct error *error)
{
    for (size_t i = 0; i < registry->count; i++) {
        const struct deployment *known = &registry->entries[i]->deployment;
        if (strcasecmp(known->flow, added->flow) == 0)
            return error_set(error, ERROR_CONFIG,
                             "%s and %s are both flow '%s'; give each concrete slug once, and a "
                             "changed flow a slug of its own",
                             known->file, added->file, added->flow);
    }
    return true;
}

static void mark_last_of_alias(struct registry *registry, struct deployment *added)
{
    added->last_of_alias = true;
    for (size_t i = 0; i < registry->count; i++)
        if (strcasecmp(registry->entries[i]->deployment.alias, added->alias) == 0)
            registry->entries[i]->deployment.last_of_alias = false;
}

bool registry_add(struct registry *registry, const struct registry_module *module,
                  struct error *error)
{
    if (registry->count == LIMIT_MODULES)
        return error_set(error, ERROR_CONFIG, "%s: more than %d modules", module->file,
                         LIMIT_MODULES);
    struct deployment_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return error_out_of_memory(error);
    if (!deployment_read(entry, module, error) ||
        !refuse_duplicate(registry, &entry->deployment, error)) {
        deployment_finish(entry);
        free(entry);
        return false;
    }
    mark_last_of_alias(registry, &entry->deployment);
    entry->deployment.module = registry->count;
    registry->entries[registry->count++] = entry;
    return true;
}

static void mark_served(struct registry *registry)
{
    for (size_t i = 0; i < registry->count; i++) {
        struct deployment *deployment = &registry->entries[i]->deployment;
        deployment->served_count = 0;
        for (size_t j = 0; j < deployment->step_count; j++) {
            struct deployment_step *step = &deployment->steps[j];
            step->served = strcmp(step->queue, registry->queue) == 0;
            deployment->served_count += step->served;
        }
    }
}

static bool build_index(struct registry *registry, struct error *error)
{
    size_t served = 0;

    for (size_t i = 0; i < registry->count; i++)
        served += registry->entries[i]->deployment.served_count;
    if (!pair_index_init(&registry->index, served, error))
        return false;
    for (size_t i = 0; i < registry->count; i++) {
        const struct deployment *deployment = &registry->entries[i]->deployment;
        for (size_t j = 0; j < deployment->step_count; j++)
            if (deployment->steps[j].served) {
                deployment->steps[j].pair = registry->index.count;
                pair_index_add(&registry->index, &deployment->steps[j]);
            }
    }
    return true;
}

bool registry_bind_queue(struct registry *registry, const char *queue, struct error *error)
{
    if (!routes_choose_queue(registry, queue, registry->queue, error))
        return false;
    mark_served(registry);
    return routes_check_all_served(registry, error) && build_index(registry, error);
}

const char *registry_queue(const struct registry *registry)
{
    return registry->queue;
}

size_t registry_count(const struct registry *registry)
{
    return registry->count;
}

const struct deployment *registry_deployment(const struct registry *registry, size_t module)
{
    return &registry->entries[module]->deployment;
}

const struct deployment_step *registry_find(const struct registry *registry, const char *flow,
                                            const char *step)
{
    return pair_index_find(&registry->index, flow, step);
}

size_t registry_pair_count(const struct registry *registry)
{
    return registry->index.count;
}

const struct deployment_step *registry_pair(const struct registry *registry, size_t i)
{
    return registry->index.pairs[i];
}

const char *queue_mode_name(enum queue_mode mode)
{
    static const char *const names[] = {"flow", "step", "routed"};

    return names[mode];
}
