/*
 * Completion of values: from the modules already typed, from the database when it
 * answers at once, from the file system by the shell.
 */
#include "ctl/complete.h"

#include "base/text.h"
#include "ctl/command.h"
#include "ctl/module_descriptor.h"
#include "db/sync.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALTERNATIVE = 64 };

/* Placeholders whose values the database has. Columns: the word, what it is. */
static const struct {
    const char *placeholder, *sql;
} sources[] = {
    {"FLOW", "select f.flow_slug, case when f.retired_at is null then 'version of ' || f.alias"
             "   else 'retired' end from pgflow.flows f"
             " union select a.alias, 'alias of ' || a.active_flow_slug from pgflow.flow_aliases a"
             "   where a.alias <> a.active_flow_slug order by 1"},
    {"ALIAS", "select a.alias, 'now ' || a.active_flow_slug from pgflow.flow_aliases a order by 1"},
    {"RUN", "select r.run_id, r.flow_slug || ', ' || r.status || ' ' ||"
            "   to_char(r.started_at, 'YYYY-MM-DD HH24:MI:SS')"
            " from pgflow.runs r order by r.started_at desc limit 100"},
    {"QUEUE", "select q.queue_name, q.kind from pgflow.queues q order by 1"},
    {"FUNCTION", "select f.function_name, case when f.enabled then 'enabled' else 'disabled' end"
                 " from pgflow.worker_functions f order by 1"},
};

void complete_one(const struct completion *completion, const char *word, const char *about)
{
    const char *current = completion->current;
    if (strncmp(word, current, strlen(current)) == 0 && text_is_printable(word))
        printf("%s\t%s\n", word, about != NULL && text_is_printable(about) ? about : "");
}

static void complete_from_database(const struct completion *completion, const char *sql)
{
    struct error ignored;
    struct invocation *invocation = completion->invocation;
    invocation->hurried = true;
    if (invocation->db == NULL && !invocation_connect(invocation, &ignored))
        return;
    struct db_rows *rows = db_sync_query(invocation->db, sql, NULL, 0, &ignored);
    for (size_t i = 0; rows != NULL && i < db_rows_count(rows); i++)
        complete_one(completion, db_rows_text(rows, i, 0), db_rows_text(rows, i, 1));
    db_rows_destroy(rows);
}

/* A member of each step; `seen` keeps a word that several steps have from coming
 * twice. */
static void complete_from_steps(const struct completion *completion, const cJSON *module,
                                const char *member, cJSON *seen)
{
    const char *flow = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(module, "flowSlug"));
    const cJSON *step = NULL;
    cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(module, "steps"))
    {
        const char *word = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(step, member));
        if (word == NULL || cJSON_HasObjectItem(seen, word))
            continue;
        (void)cJSON_AddTrueToObject(seen, word);
        complete_one(completion, word, flow);
    }
}

static void complete_from_modules(const struct completion *completion, const char *const *files,
                                  size_t count, const char *member)
{
    struct error ignored;
    cJSON *seen = cJSON_CreateObject();
    for (size_t i = 0; seen != NULL && i < count; i++) {
        char *descriptor = module_descriptor_read_trusted(files[i], &ignored);
        cJSON *module = descriptor != NULL ? cJSON_Parse(descriptor) : NULL;
        complete_from_steps(completion, module, member, seen);
        cJSON_Delete(module);
        free(descriptor);
    }
    cJSON_Delete(seen);
}

/* As rollout_progress names them. */
static void complete_rollout_steps(const struct completion *completion)
{
    static const char *const names[] = {"load",  "fence",   "deprecate", "wait",  "deploy",
                                        "apply", "confirm", "switch",    "drain", "retire"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        complete_one(completion, names[i], "");
}

static void complete_alternative(const struct completion *completion, const char *alternative)
{
    const char *dot = strchr(alternative, '.');
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        if (strcmp(alternative, sources[i].placeholder) == 0)
            complete_from_database(completion, sources[i].sql);
    }
    if (strcmp(alternative, "LITERAL") == 0)
        complete_from_modules(completion, completion->plugins, completion->plugin_count, "queue");
    else if (strcmp(alternative, "STEP") == 0)
        complete_from_modules(completion, completion->arguments, completion->argument_count,
                              "slug");
    else if (strcmp(alternative, "ROLLOUT-STEP") == 0)
        complete_rollout_steps(completion);
    else if (strcmp(alternative, "FOLDER") == 0)
        printf(":folders\n");
    else if (strcmp(alternative, "FILE") == 0 ||
             (dot != NULL && isupper((unsigned char)*alternative)))
        printf(":files %s\n", dot != NULL ? dot : "");
    else if (islower((unsigned char)*alternative))
        complete_one(completion, alternative, "");
}

/* The word number `index`, without brackets; the last one where it ends with
 * "...", NULL where there are fewer. */
static const char *find_word(const char *specification, size_t index, size_t *size)
{
    const char *word = specification + strspn(specification, "[ ");
    while (*word) {
        *size = strcspn(word, " ]");
        const char *next = word + *size + strspn(word + *size, "] ");
        if (index == 0 || (*next == '\0' && *size > 3 && strncmp(word + *size - 3, "...", 3) == 0))
            return word;
        index--;
        word = next;
    }
    return NULL;
}

void complete_specification(const struct completion *completion, const char *specification,
                            size_t index)
{
    size_t size = 0;
    const char *word = find_word(specification, index, &size);
    if (word != NULL && size > 3 && strncmp(word + size - 3, "...", 3) == 0)
        size -= 3;
    while (word != NULL && size > 0) {
        char alternative[ALTERNATIVE];
        size_t length = strcspn(word, "|");
        length = length < size ? length : size;
        (void)snprintf(alternative, sizeof alternative, "%.*s", (int)length, word);
        complete_alternative(completion, alternative);
        length += length < size;
        word += length;
        size -= length;
    }
}
