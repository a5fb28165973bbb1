/*
 * The concrete flows of one host: what its modules declare, which steps of them lie on the queue
 * that it serves, and who handles a (flow, step) pair. Filled once at startup, then only read.
 *
 * Data flow: the descriptor JSON of each module, in the order given -> deployments (a plain flow
 * becomes the default deployment: its own alias, its own queue) -> registry_bind_queue: the one
 * queue, given or inferred, and the exact pairs routed to it -> registry_find at every claimed
 * task. Duplicate slugs, a module with nothing on the queue and an unknown queue end here, before
 * any change to the database.
 */
#ifndef PGFLOW_REGISTRY_REGISTRY_H
#define PGFLOW_REGISTRY_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limits.h"

struct registry;

enum queue_mode { QUEUE_MODE_FLOW, QUEUE_MODE_STEP, QUEUE_MODE_ROUTED };

struct deployment_step {
    const char *slug;
    uint32_t index;                   /* in the descriptor */
    char queue[LIMIT_QUEUE_NAME + 1]; /* canonical */
    bool gets_flow_input;             /* a single root step, or one that asks for it */
    bool served;                      /* routed to the queue of this host */
    size_t pair;                      /* served: its place among all served pairs */
    const struct deployment *deployment;
};

struct deployment {
    const char *flow;    /* the concrete slug */
    const char *alias;   /* the flow itself for a plain flow */
    const char *version; /* "" when the module names none */
    enum queue_mode mode;
    const char *file; /* as given */
    const char *sha256, *build_id;
    const char *document; /* the argument of pgflow.ensure_deployment, JSON text */
    size_t module;        /* in the order given */
    bool last_of_alias;   /* no later module has its alias */
    size_t step_count, served_count;
    struct deployment_step *steps; /* in the order of the descriptor */
};

/*
 * What is known of a module; all borrowed while the registry lives. The descriptor, as the runner
 * prints it (runner/descriptor_json.h), is handed to the database unchanged: no pattern or number
 * in it is read and printed again.
 */
struct registry_module {
    const char *file;
    const char *descriptor; /* JSON text, NUL-terminated */
    const char *sha256, *build_id;
};

struct registry *registry_create(struct error *error) MUST_CHECK;
/* Takes NULL. */
void registry_destroy(struct registry *registry);

/* The next module. ERROR_CONFIG: a slug that is there already (both files named), a route that is
 * no queue name, a descriptor that is not what the runner prints. */
bool registry_add(struct registry *registry, const struct registry_module *module,
                  struct error *error) MUST_CHECK;

/*
 * The queue of this host: `queue`, or (NULL) that of the one plain flow. Marks the served steps and
 * builds the index. ERROR_USAGE: none given and none can be inferred, or no module knows it;
 * ERROR_CONFIG: not every module has a step there. The message lists what is routed where.
 */
bool registry_bind_queue(struct registry *registry, const char *queue,
                         struct error *error) MUST_CHECK;
const char *registry_queue(const struct registry *registry);

size_t registry_count(const struct registry *registry);
const struct deployment *registry_deployment(const struct registry *registry, size_t module);

/* The served step of that exact pair, or NULL. */
const struct deployment_step *registry_find(const struct registry *registry, const char *flow,
                                            const char *step);

/* All served pairs, in the order of modules and steps. */
size_t registry_pair_count(const struct registry *registry);
const struct deployment_step *registry_pair(const struct registry *registry, size_t i);

const char *queue_mode_name(enum queue_mode mode);

#endif
