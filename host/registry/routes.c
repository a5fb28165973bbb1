#include "registry/routes.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"

/* The distinct queues of some modules, in the order of steps, borrowed from the registry. */
struct queue_list {
    const char *names[LIMIT_QUEUES_SHOWN];
    size_t count, more;
};

static void add_queue(struct queue_list *list, const char *queue)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->names[i], queue) == 0)
            return;
    if (list->count < LIMIT_QUEUES_SHOWN)
        list->names[list->count++] = queue;
    else
        list->more++;
}

static void add_queues_of(struct queue_list *list, const struct deployment *deployment)
{
    for (size_t i = 0; i < deployment->step_count; i++)
        add_queue(list, deployment->steps[i].queue);
}

static void put_queues(struct buf *text, const struct queue_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        buf_printf(text, "%s%s", i == 0 ? "" : ", ", list->names[i]);
    if (list->more > 0)
        buf_puts(text, ", ...");
}

/* "flow triage_v1 (./triage_v1.so): classify -> classify_threads, ..." */
static void put_routes(struct buf *text, const struct deployment *deployment)
{
    buf_printf(text, "\n  %s (%s):", deployment->flow, deployment->file);
    for (size_t i = 0; i < deployment->step_count && i < LIMIT_QUEUES_SHOWN; i++)
        buf_printf(text, "%s %s -> %s", i == 0 ? "" : ",", deployment->steps[i].slug,
                   deployment->steps[i].queue);
    if (deployment->step_count > LIMIT_QUEUES_SHOWN)
        buf_printf(text, ", and %zu more steps", deployment->step_count - LIMIT_QUEUES_SHOWN);
}

static void put_all_routes(struct buf *text, const struct registry *registry)
{
    for (size_t i = 0; i < registry_count(registry); i++)
        put_routes(text, registry_deployment(registry, i));
}

static void collect_queues(struct queue_list *list, const struct registry *registry)
{
    memset(list, 0, sizeof *list);
    for (size_t i = 0; i < registry_count(registry); i++)
        add_queues_of(list, registry_deployment(registry, i));
}

/* So much of an error text: room is left to say that it was cut. */
#define TEXT_MAX (LIMIT_ERROR_TEXT - 8)

static bool refuse(struct error *error, int code, struct buf *text)
{
    (void)error_set(error, code, "%s%s", text->data, buf_ok(text) ? "" : " ...");
    buf_free(text);
    return false;
}

static bool refuse_missing(const struct registry *registry, struct error *error)
{
    struct queue_list queues;
    struct buf text;

    collect_queues(&queues, registry);
    buf_init(&text, TEXT_MAX);
    buf_printf(&text, "--queue is missing: %s; the given module%s declare%s: ",
               registry_count(registry) > 1 ? "it is needed when several modules are given"
                                            : "this flow does not keep to one queue of its own",
               registry_count(registry) > 1 ? "s" : "", registry_count(registry) > 1 ? "" : "s");
    put_queues(&text, &queues);
    return refuse(error, ERROR_USAGE, &text);
}

static bool refuse_unknown(const struct registry *registry, const char *queue, struct error *error)
{
    struct queue_list queues;
    struct buf text;

    collect_queues(&queues, registry);
    const char *near = text_nearest(queue, queues.names, queues.count);
    buf_init(&text, TEXT_MAX);
    buf_printf(&text, "--queue %s: no given module has a step on it", queue);
    if (near != NULL)
        buf_printf(&text, "; did you mean %s?", near);
    buf_puts(&text, near != NULL ? " Declared queues: " : "; declared queues: ");
    put_queues(&text, &queues);
    put_all_routes(&text, registry);
    return refuse(error, ERROR_USAGE, &text);
}

static bool is_declared(const struct registry *registry, const char *queue)
{
    for (size_t i = 0; i < registry_count(registry); i++) {
        const struct deployment *deployment = registry_deployment(registry, i);
        for (size_t j = 0; j < deployment->step_count; j++)
            if (strcmp(deployment->steps[j].queue, queue) == 0)
                return true;
    }
    return false;
}

bool routes_choose_queue(const struct registry *registry, const char *wanted,
                         char queue[LIMIT_QUEUE_NAME + 1], struct error *error)
{
    if (wanted == NULL) {
        const struct deployment *only = registry_deployment(registry, 0);
        if (registry_count(registry) != 1 || only->mode != QUEUE_MODE_FLOW)
            return refuse_missing(registry, error);
        memcpy(queue, only->steps[0].queue, LIMIT_QUEUE_NAME + 1);
        return true;
    }
    if (!text_lower(queue, LIMIT_QUEUE_NAME + 1, wanted) || !text_is_queue_name(queue))
        return error_set(error, ERROR_USAGE,
                         "--queue '%s' is no queue name: letters, digits, _ and single hyphens "
                         "between them, at most %d",
                         wanted, LIMIT_QUEUE_NAME);
    return is_declared(registry, queue) || refuse_unknown(registry, queue, error);
}

bool routes_check_all_served(const struct registry *registry, struct error *error)
{
    for (size_t i = 0; i < registry_count(registry); i++) {
        const struct deployment *deployment = registry_deployment(registry, i);
        struct queue_list queues = {.count = 0};
        struct buf text;

        if (deployment->served_count > 0)
            continue;
        add_queues_of(&queues, deployment);
        buf_init(&text, TEXT_MAX);
        buf_printf(&text, "%s: flow %s has no step on queue %s; its queues: ", deployment->file,
                   deployment->flow, registry_queue(registry));
        put_queues(&text, &queues);
        buf_puts(&text, ". Leave the module out here, or serve one of those. Routes:");
        put_all_routes(&text, registry);
        return refuse(error, ERROR_CONFIG, &text);
    }
    return true;
}
