#include "registry/deployment.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static bool refuse(const struct registry_module *module, const char *what, struct error *error)
{
    return error_set(error, ERROR_CONFIG,
                     "%s: its descriptor, as the runner printed it, has no valid %s; is a "
                     "constructor of the module writing to file descriptors that are not its own?",
                     module->file, what);
}

/* The text of a member, NULL when it is missing or none. */
static const char *text_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static bool read_mode(enum queue_mode *mode, const char *word)
{
    for (int i = QUEUE_MODE_FLOW; i <= QUEUE_MODE_ROUTED; i++)
        if (word != NULL && strcmp(word, queue_mode_name((enum queue_mode)i)) == 0) {
            *mode = (enum queue_mode)i;
            return true;
        }
    return false;
}

static bool read_head(struct deployment *deployment, const cJSON *json,
                      const struct registry_module *module, struct error *error)
{
    deployment->flow = text_of(json, "flowSlug");
    if (deployment->flow == NULL || !text_is_deployment_slug(deployment->flow))
        return refuse(module, "flowSlug", error);
    deployment->alias = text_of(json, "alias");
    if (deployment->alias == NULL)
        deployment->alias = deployment->flow;
    if (!text_is_deployment_slug(deployment->alias))
        return refuse(module, "alias", error);
    deployment->version = text_of(json, "version");
    if (deployment->version == NULL)
        deployment->version = "";
    if (!read_mode(&deployment->mode, text_of(json, "queueMode")))
        return refuse(module, "queueMode", error);
    return true;
}

/* The database ignores case, too. */
static bool is_known(const struct deployment *deployment, const char *slug)
{
    for (size_t i = 0; i < deployment->step_count; i++)
        if (strcasecmp(deployment->steps[i].slug, slug) == 0)
            return true;
    return false;
}

/* Names of earlier steps. */
static bool are_dependencies(const struct deployment *deployment, const cJSON *list)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item) || !is_known(deployment, item->valuestring))
            return false;
    }
    return list == NULL || cJSON_IsArray(list);
}

static bool read_step(struct deployment_step *step, const cJSON *json,
                      const struct registry_module *module, struct error *error)
{
    const char *queue = text_of(json, "queue");

    step->slug = text_of(json, "slug");
    if (step->slug == NULL || !text_is_deployment_slug(step->slug))
        return refuse(module, "step slug", error);
    if (queue == NULL || !text_lower(step->queue, sizeof step->queue, queue) ||
        !text_is_queue_name(step->queue))
        return refuse(module, "queue of a step", error);
    bool is_root = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "dependencies")) == 0;
    const char *type = text_of(json, "stepType");
    bool is_map = type != NULL && strcmp(type, "map") == 0;
    step->gets_flow_input = (is_root && !is_map) ||
                            cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "wantsFlowInput"));
    return true;
}

static bool read_steps(struct deployment *deployment, const cJSON *steps,
                       const struct registry_module *module, struct error *error)
{
    int count = cJSON_IsArray(steps) ? cJSON_GetArraySize(steps) : 0;
    const cJSON *item;

    if (count < 1 || count > LIMIT_STEPS)
        return refuse(module, "list of steps", error);
    deployment->steps = calloc((size_t)count, sizeof *deployment->steps);
    if (deployment->steps == NULL)
        return error_out_of_memory(error);
    cJSON_ArrayForEach(item, steps)
    {
        struct deployment_step *step = &deployment->steps[deployment->step_count];

        if (!read_step(step, item, module, error))
            return false;
        if (is_known(deployment, step->slug))
            return refuse(module, "list of steps", error);
        if (!are_dependencies(deployment, cJSON_GetObjectItemCaseSensitive(item, "dependencies")))
            return refuse(module, "dependencies of a step", error);
        step->deployment = deployment;
        step->index = (uint32_t)deployment->step_count++;
    }
    return true;
}

bool deployment_read(struct deployment_entry *entry, const struct registry_module *module,
                     struct error *error)
{
    struct deployment *deployment = &entry->deployment;

    entry->json = cJSON_ParseWithOpts(module->descriptor, NULL, true);
    if (!cJSON_IsObject(entry->json))
        return refuse(module, "JSON", error);
    deployment->file = module->file;
    deployment->sha256 = module->sha256;
    deployment->build_id = module->build_id;
    deployment->document = module->descriptor;
    return read_head(deployment, entry->json, module, error) &&
           read_steps(deployment, cJSON_GetObjectItemCaseSensitive(entry->json, "steps"), module,
                      error);
}

void deployment_finish(struct deployment_entry *entry)
{
    free(entry->deployment.steps);
    cJSON_Delete(entry->json);
}
