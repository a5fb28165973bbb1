/*
 * For tests: reads lines, each {"snapshot": pgflow.needs_snapshot(), "modules": [descriptor, ...],
 * "queue": name}, and prints for each what pgflowctl preflight --json prints, or
 * {"verdict": "cannot_tell", "text": ...}.
 */
#include "ctl/preflight/preflight.h"
#include "ctl/preflight/preflight_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODULES = 64 };

static char *copy(struct json_view view)
{
    return strndup(view.text, view.size);
}

static bool load_modules(struct registry *registry, struct json_view list, char **descriptors,
                         struct error *error)
{
    struct json_walk walk = json_view_walk(list);
    struct json_view module;
    for (size_t i = 0; i < MODULES && json_walk_element(&walk, &module); i++) {
        descriptors[i] = copy(module);
        if (descriptors[i] == NULL ||
            !registry_add(registry,
                          &(struct registry_module){.file = "generated.so",
                                                    .descriptor = descriptors[i],
                                                    .sha256 = "",
                                                    .build_id = ""},
                          error))
            return false;
    }
    return true;
}

static bool load_snapshot(struct snapshot *snapshot, struct json_view view, struct error *error)
{
    char digest[SNAPSHOT_DIGEST];
    struct buf text;
    buf_init(&text, SNAPSHOT_MAX);
    bool ok = snapshot_digest(view, digest, error);
    if (ok) {
        buf_printf(&text, "{\"digest\": \"%s\", ", digest);
        buf_put(&text, view.text + 1, view.size - 1);
        ok = snapshot_read(snapshot, &text, error);
    }
    buf_free(&text);
    return ok;
}

static bool judge(struct json_view line, struct buf *out, struct error *error)
{
    struct registry *registry = registry_create(error);
    struct snapshot snapshot = {.flow_count = 0};
    char *descriptors[MODULES] = {NULL};
    struct json_view modules, its_snapshot, queue;
    enum preflight_verdict verdict;

    char *name = json_view_member(line, "queue", &queue)
                     ? copy((struct json_view){queue.text + 1, queue.size - 2})
                     : NULL;
    bool ok = registry != NULL && name != NULL && json_view_member(line, "modules", &modules) &&
              json_view_member(line, "snapshot", &its_snapshot) &&
              load_modules(registry, modules, descriptors, error) &&
              registry_bind_queue(registry, name, error) &&
              load_snapshot(&snapshot, its_snapshot, error);
    struct preflight preflight = {
        .snapshot = &snapshot, .registry = registry, .function = "pgflow-host/tested"};
    ok = ok && preflight_judge(&preflight, &verdict, error);
    if (ok)
        preflight_put_json(out, &preflight, verdict);
    findings_free(&preflight.findings);
    snapshot_free(&snapshot);
    registry_destroy(registry);
    for (size_t i = 0; i < MODULES; i++)
        free(descriptors[i]);
    free(name);
    return ok;
}

static void answer(const char *line, size_t size)
{
    struct error error = {.text = "a line that is no question"};
    struct json_view view;
    struct buf out;

    buf_init(&out, SNAPSHOT_MAX);
    if (!json_view_open(&view, line, size, &error) || !judge(view, &out, &error)) {
        buf_clear(&out);
        buf_puts(&out, "{\"verdict\": \"cannot_tell\", \"text\": ");
        buf_put_json_string(&out, error.text, strlen(error.text));
        buf_puts(&out, "}\n");
    }
    (void)fputs(out.data, stdout);
    (void)fflush(stdout);
    buf_free(&out);
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;

    while ((size = getline(&line, &room, stdin)) > 0)
        answer(line, (size_t)size);
    free(line);
    return 0;
}
