#include "ctl/preflight/snapshot.h"

#include "ctl/preflight/snapshot_fields.h"
#include "db/migrate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const snapshot_reason_words[SNAPSHOT_REASONS] = {
    [NEEDED_ACTIVE] = "active",
    [NEEDED_DRAINING] = "draining",
    [NEEDED_EXECUTABLE] = "executable",
    [NEEDED_RECOVERABLE] = "recoverable",
};

static bool read_flow(void *item, const struct snapshot_object *object)
{
    struct snapshot_flow *flow = item;
    struct snapshot_object inner = *object;

    if (!snapshot_member(object, "deployment", '{', &flow->deployment))
        return false;
    inner.view = flow->deployment;
    return snapshot_text(&inner, "flowSlug", false, flow->slug, sizeof flow->slug) &&
           snapshot_text(&inner, "alias", false, flow->alias, sizeof flow->alias) &&
           snapshot_check_deployment(object, flow->deployment) &&
           snapshot_bool(object, "in_service", &flow->in_service) &&
           snapshot_bool(object, "active", &flow->active) &&
           snapshot_bool(object, "superseded", &flow->superseded);
}

static bool read_queue(void *item, const struct snapshot_object *object)
{
    struct snapshot_queue *queue = item;
    return snapshot_text(object, "queue", false, queue->name, sizeof queue->name) &&
           snapshot_text(object, "kind", true, queue->kind, sizeof queue->kind) &&
           snapshot_text(object, "owner", true, queue->owner, sizeof queue->owner) &&
           snapshot_count(object, "spellings", &queue->spellings);
}

static bool read_reasons(struct snapshot_need *need, const struct snapshot_object *object)
{
    struct json_view list, element;
    bool any = false;
    if (!snapshot_member(object, "reasons", '[', &list))
        return false;
    struct json_walk walk = json_view_walk(list);
    while (json_walk_element(&walk, &element)) {
        bool known = false;
        for (size_t i = 0; i < SNAPSHOT_REASONS; i++)
            if (element.size == strlen(snapshot_reason_words[i]) + 2 &&
                memcmp(element.text + 1, snapshot_reason_words[i], element.size - 2) == 0)
                known = need->reasons[i] = any = true;
        if (!known)
            return snapshot_wrong(object, "reasons", "known to this program");
    }
    return any || snapshot_wrong(object, "reasons", "a list with a reason");
}

static bool read_need(void *item, const struct snapshot_object *object)
{
    struct snapshot_need *need = item;
    return snapshot_text(object, "queue", false, need->queue, sizeof need->queue) &&
           snapshot_text(object, "flow", false, need->flow, sizeof need->flow) &&
           snapshot_text(object, "step", false, need->step, sizeof need->step) &&
           read_reasons(need, object) && snapshot_count(object, "runs", &need->runs) &&
           snapshot_count(object, "tasks", &need->tasks) &&
           snapshot_bool(object, "runs_at_least", &need->runs_at_least) &&
           snapshot_bool(object, "tasks_at_least", &need->tasks_at_least) &&
           snapshot_text(object, "oldest", true, need->oldest, sizeof need->oldest);
}

static bool read_host(void *item, const struct snapshot_object *object)
{
    struct snapshot_host *host = item;
    struct json_view pair;
    if (!snapshot_text(object, "queue", false, host->queue, sizeof host->queue) ||
        !snapshot_text(object, "function", false, host->function, sizeof host->function) ||
        !snapshot_bool(object, "standby", &host->standby) ||
        !snapshot_bool(object, "enabled", &host->enabled) ||
        !snapshot_count(object, "hosts", &host->hosts) ||
        !snapshot_member(object, "pairs", '[', &host->pairs))
        return false;
    struct json_walk walk = json_view_walk(host->pairs);
    struct snapshot_object inner = *object;
    char name[LIMIT_SLUG + 1];
    while (json_walk_element(&walk, &pair)) {
        if (pair.text[0] != '{')
            return snapshot_wrong(object, "pairs", "a list of pairs");
        inner.view = pair;
        if (!snapshot_text(&inner, "flow", false, name, sizeof name) ||
            !snapshot_text(&inner, "step", false, name, sizeof name))
            return false;
    }
    return true;
}

static size_t count_elements(struct json_view list)
{
    struct json_walk walk = json_view_walk(list);
    struct json_view element;
    size_t count = 0;
    while (json_walk_element(&walk, &element))
        count++;
    return count;
}

/* `items` becomes an array of what `read` fills. */
static bool read_list(const struct snapshot_object *root, const char *name, size_t item_size,
                      bool (*read)(void *item, const struct snapshot_object *object), void **items,
                      size_t *count)
{
    struct snapshot_object object = {.list = name, .error = root->error};
    struct json_view list;

    if (!snapshot_member(root, name, '[', &list))
        return false;
    struct json_walk walk = json_view_walk(list);
    *items = calloc(count_elements(list) + 1, item_size);
    if (*items == NULL)
        return error_out_of_memory(root->error);
    while (json_walk_element(&walk, &object.view)) {
        if (object.view.text[0] != '{')
            return snapshot_wrong(root, name, "a list of objects");
        if (!read((char *)*items + *count * item_size, &object))
            return false;
        object.index = ++*count;
    }
    return true;
}

static bool read_lists(struct snapshot *snapshot, const struct snapshot_object *root)
{
    void *flows = NULL, *queues = NULL, *needs = NULL, *hosts = NULL;
    bool ok =
        read_list(root, "flows", sizeof *snapshot->flows, read_flow, &flows,
                  &snapshot->flow_count) &&
        read_list(root, "queues", sizeof *snapshot->queues, read_queue, &queues,
                  &snapshot->queue_count) &&
        read_list(root, "needs", sizeof *snapshot->needs, read_need, &needs,
                  &snapshot->need_count) &&
        read_list(root, "hosts", sizeof *snapshot->hosts, read_host, &hosts, &snapshot->host_count);
    snapshot->flows = flows;
    snapshot->queues = queues;
    snapshot->needs = needs;
    snapshot->hosts = hosts;
    return ok;
}

static bool parse_time(const char *text, time_t *seconds)
{
    struct tm parts = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    *seconds = timegm(&parts);
    return end != NULL && *end == '\0';
}

static bool read_head(struct snapshot *snapshot, const struct snapshot_object *root)
{
    char format[32];
    uint64_t version = 0;
    time_t ignored;

    if (!snapshot_text(root, "format", false, format, sizeof format) ||
        !snapshot_count(root, "format_version", &version))
        return false;
    if (strcmp(format, "pgflow-snapshot") != 0 || version != 1)
        return error_set(root->error, ERROR_CONFIG,
                         "this program does not know snapshots of format %s %" PRIu64
                         "; use the pgflowctl that took it, or take a new one: pgflowctl snapshot",
                         format, version);
    if (!snapshot_text(root, "taken_at", false, snapshot->taken_at, sizeof snapshot->taken_at) ||
        !snapshot_text(root, "digest", false, snapshot->digest, sizeof snapshot->digest) ||
        !snapshot_count(root, "schema_version", &snapshot->schema_version) ||
        !snapshot_count(root, "oldest_host", &snapshot->oldest_host) ||
        !snapshot_bool(root, "is_local", &snapshot->is_local))
        return false;
    if (!parse_time(snapshot->taken_at, &ignored))
        return snapshot_wrong(root, "taken_at", "a time");
    if (snapshot->schema_version > 1000000 || snapshot->oldest_host > 1000000)
        return snapshot_wrong(root, "schema_version", "a version");
    return migrate_judge((int)snapshot->schema_version, (int)snapshot->oldest_host, root->error);
}

bool snapshot_read(struct snapshot *snapshot, struct buf *text, struct error *error)
{
    struct snapshot_object root = {.list = "snapshot", .error = error};
    char digest[SNAPSHOT_DIGEST];

    snapshot->text = *text;
    buf_init(text, text->maximum);
    if (!json_view_open(&root.view, snapshot->text.data, snapshot->text.size, error)) {
        error->code = ERROR_CONFIG;
        return error_wrap(error, "the snapshot is not one");
    }
    if (root.view.text[0] != '{')
        return error_set(error, ERROR_CONFIG,
                         "the snapshot is not one: it is no JSON object; take one: pgflowctl "
                         "snapshot > FILE");
    if (!read_head(snapshot, &root))
        return false;
    if (!snapshot_digest(root.view, digest, error))
        return false;
    if (strcmp(digest, snapshot->digest) != 0)
        return error_set(error, ERROR_CONFIG,
                         "the snapshot was changed after it was taken: its digest is not that of "
                         "what it says; take a new one: pgflowctl snapshot");
    return read_lists(snapshot, &root);
}

void snapshot_free(struct snapshot *snapshot)
{
    free(snapshot->flows);
    free(snapshot->queues);
    free(snapshot->needs);
    free(snapshot->hosts);
    buf_free(&snapshot->text);
}

double snapshot_age(const struct snapshot *snapshot)
{
    time_t taken;
    return parse_time(snapshot->taken_at, &taken) ? difftime(time(NULL), taken) : 0;
}

const struct snapshot_flow *snapshot_flow(const struct snapshot *snapshot, const char *slug)
{
    for (size_t i = 0; i < snapshot->flow_count; i++)
        if (strcmp(snapshot->flows[i].slug, slug) == 0)
            return &snapshot->flows[i];
    return NULL;
}

const struct snapshot_queue *snapshot_queue(const struct snapshot *snapshot, const char *name)
{
    for (size_t i = 0; i < snapshot->queue_count; i++)
        if (strcmp(snapshot->queues[i].name, name) == 0)
            return &snapshot->queues[i];
    return NULL;
}

const struct snapshot_flow *snapshot_active(const struct snapshot *snapshot, const char *alias)
{
    for (size_t i = 0; i < snapshot->flow_count; i++)
        if (snapshot->flows[i].active && strcmp(snapshot->flows[i].alias, alias) == 0)
            return &snapshot->flows[i];
    return NULL;
}

bool snapshot_host_works(const struct snapshot_host *host, const char *queue)
{
    return !host->standby && host->enabled && strcmp(host->queue, queue) == 0;
}

bool snapshot_next_pair(struct json_walk *walk, char flow[LIMIT_SLUG + 1],
                        char step[LIMIT_SLUG + 1])
{
    struct error ignored;
    struct snapshot_object pair = {.list = "pairs", .error = &ignored};
    return json_walk_element(walk, &pair.view) &&
           snapshot_text(&pair, "flow", false, flow, LIMIT_SLUG + 1) &&
           snapshot_text(&pair, "step", false, step, LIMIT_SLUG + 1);
}

bool snapshot_host_has(const struct snapshot_host *host, const char *flow, const char *step)
{
    struct json_walk walk = json_view_walk(host->pairs);
    char its_flow[LIMIT_SLUG + 1], its_step[LIMIT_SLUG + 1];
    while (snapshot_next_pair(&walk, its_flow, its_step))
        if (strcmp(its_flow, flow) == 0 && strcmp(its_step, step) == 0)
            return true;
    return false;
}
