/*
 * pgflowctl graph FLOW|FILE.so: the steps of a flow and what each waits for, as
 * text that Mermaid or Graphviz draws. Nodes are numbered: a step may be called
 * `end` or `graph`.
 */
#include "ctl/command.h"
#include "ctl/module_descriptor.h"
#include "ctl/query.h"

#include "db/sync.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The stored flow in the shape of a descriptor. A concrete slug is taken before
 * an alias, which stands for its active version. */
static const char graph_sql[] =
    "select jsonb_build_object('flowSlug', f.flow_slug, 'alias', f.alias, 'steps', ("
    "  select jsonb_agg(jsonb_build_object('slug', s.step_slug, 'stepType', s.step_type,"
    "    'queue', s.queue_name,"
    "    'dependencies', (select coalesce(jsonb_agg(d.dep_slug order by p.step_index), '[]')"
    "       from pgflow.deps d join pgflow.steps p"
    "         on p.flow_slug = d.flow_slug and p.step_slug = d.dep_slug"
    "       where d.flow_slug = s.flow_slug and d.step_slug = s.step_slug),"
    "    'requiredInputPattern', jsonb_build_object('defined', s.required_input_pattern is not "
    "null),"
    "    'forbiddenInputPattern', jsonb_build_object('defined', s.forbidden_input_pattern is not "
    "null)"
    "  ) order by s.step_index) from pgflow.steps s where s.flow_slug = f.flow_slug))"
    " from pgflow.flows f where f.flow_slug = coalesce("
    "   (select g.flow_slug from pgflow.flows g where g.flow_slug = $1),"
    "   (select a.active_flow_slug from pgflow.flow_aliases a where a.alias = $1))";

static const char *text_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text != NULL ? text : "";
}

static bool is_map(const cJSON *step)
{
    return strcmp(text_of(step, "stepType"), "map") == 0;
}

static bool has_pattern(const cJSON *step, const char *name)
{
    const cJSON *pattern = cJSON_GetObjectItemCaseSensitive(step, name);
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(pattern, "defined"));
}

static bool is_conditional(const cJSON *step)
{
    return has_pattern(step, "requiredInputPattern") || has_pattern(step, "forbiddenInputPattern");
}

static int index_of(const cJSON *steps, const char *slug)
{
    int index = 0;
    const cJSON *step = NULL;
    cJSON_ArrayForEach(step, steps)
    {
        if (strcmp(text_of(step, "slug"), slug) == 0)
            return index;
        index++;
    }
    return -1;
}

/* Where all steps share one queue it says nothing. */
static bool has_several_queues(const cJSON *steps)
{
    const char *first = text_of(cJSON_GetArrayItem(steps, 0), "queue");
    const cJSON *step = NULL;
    cJSON_ArrayForEach(step, steps)
    {
        if (strcmp(text_of(step, "queue"), first) != 0)
            return true;
    }
    return false;
}

static void print_mermaid_step(const cJSON *step, int number, bool queues)
{
    const char *open = is_map(step) ? "[[" : is_conditional(step) ? "{{" : "[";
    const char *close = is_map(step) ? "]]" : is_conditional(step) ? "}}" : "]";
    printf("  s%d%s\"%s", number, open, text_of(step, "slug"));
    if (queues)
        printf("<br/><small>%s</small>", text_of(step, "queue"));
    printf("\"%s\n", close);
}

static void print_dot_step(const cJSON *step, int number, bool queues)
{
    printf("  s%d [label=\"%s", number, text_of(step, "slug"));
    if (queues)
        printf("\\n%s", text_of(step, "queue"));
    printf("\"%s%s];\n", is_map(step) ? ", shape=box3d" : "",
           is_conditional(step) ? ", style=dashed" : "");
}

static void print_edges(const cJSON *steps, const cJSON *step, int number, bool dot)
{
    const cJSON *dependency = NULL;
    const char *arrow = dot ? "->" : is_conditional(step) ? "-.->" : "-->";
    cJSON_ArrayForEach(dependency, cJSON_GetObjectItemCaseSensitive(step, "dependencies"))
    {
        const char *slug = cJSON_GetStringValue(dependency);
        printf("  s%d %s s%d%s\n", index_of(steps, slug != NULL ? slug : ""), arrow, number,
               dot ? ";" : "");
    }
}

static void print_graph(const cJSON *flow, bool dot)
{
    const cJSON *steps = cJSON_GetObjectItemCaseSensitive(flow, "steps");
    const cJSON *step = NULL;
    bool queues = has_several_queues(steps);
    int number = 0;
    if (dot)
        printf("digraph \"%s\" {\n  node [shape=box];\n", text_of(flow, "flowSlug"));
    else
        printf("---\ntitle: %s\n---\nflowchart TD\n", text_of(flow, "flowSlug"));
    cJSON_ArrayForEach(step, steps)
    {
        if (dot)
            print_dot_step(step, number++, queues);
        else
            print_mermaid_step(step, number++, queues);
    }
    number = 0;
    cJSON_ArrayForEach(step, steps) print_edges(steps, step, number++, dot);
    if (dot)
        printf("}\n");
}

/* The steps with what they wait for, and no more than a picture needs. */
static bool print_json(const cJSON *flow, struct error *error)
{
    cJSON *shown = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(shown, "steps");
    const cJSON *step = NULL;
    (void)cJSON_AddStringToObject(shown, "flow", text_of(flow, "flowSlug"));
    cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(flow, "steps"))
    {
        cJSON *one = cJSON_CreateObject();
        (void)cJSON_AddStringToObject(one, "step", text_of(step, "slug"));
        (void)cJSON_AddStringToObject(one, "type", text_of(step, "stepType"));
        (void)cJSON_AddStringToObject(one, "queue", text_of(step, "queue"));
        (void)cJSON_AddBoolToObject(one, "conditional", is_conditional(step));
        (void)cJSON_AddItemToObject(
            one, "after",
            cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(step, "dependencies"), true));
        (void)cJSON_AddItemToArray(list, one);
    }
    char *text = cJSON_PrintUnformatted(shown);
    if (text != NULL)
        printf("%s\n", text);
    cJSON_free(text);
    cJSON_Delete(shown);
    return text != NULL || error_out_of_memory(error);
}

/* A path is a file; a flow's name has neither dot nor slash. */
static bool is_file(const char *name)
{
    return strpbrk(name, "./") != NULL;
}

static bool is_offline(const struct invocation *invocation)
{
    return is_file(invocation->arguments[0]);
}

static char *read_stored(struct invocation *invocation, const char *name, struct error *error)
{
    char *document = NULL;
    struct db_rows *rows = query_rows(invocation->db, graph_sql, &name, 1, error);
    if (rows == NULL)
        return NULL;
    if (db_rows_count(rows) == 0)
        (void)query_no_flow(invocation->db, name, error);
    else if ((document = strdup(db_rows_text(rows, 0, 0))) == NULL)
        (void)error_out_of_memory(error);
    db_rows_destroy(rows);
    return document;
}

static int execute(struct invocation *invocation, struct error *error)
{
    const char *name = invocation->arguments[0];
    const char *format = invocation_value(invocation, "format");
    bool dot = format != NULL && strcmp(format, "dot") == 0;
    if (format != NULL && !dot && strcmp(format, "mermaid") != 0) {
        (void)error_set(error, ERROR_USAGE, "--format '%s': give mermaid or dot", format);
        return FAILED;
    }
    char *document =
        is_file(name) ? module_descriptor_read(name, error) : read_stored(invocation, name, error);
    cJSON *flow = document != NULL ? cJSON_Parse(document) : NULL;
    if (document != NULL && flow == NULL)
        (void)error_set(error, ERROR_INTERNAL, "%s: its description cannot be read", name);
    bool printed = flow != NULL;
    if (flow != NULL && invocation->json)
        printed = print_json(flow, error);
    else if (flow != NULL)
        print_graph(flow, dot);
    cJSON_Delete(flow);
    free(document);
    return printed ? DONE : FAILED;
}

const struct command command_graph = {
    .name = "graph",
    .arguments = "FLOW|FILE.so",
    .summary = "draw the steps of a flow, as Mermaid or Graphviz text",
    .help = "Shows each step with what it waits for. A map has a double frame; a step with a\n"
            "condition has another shape or dashes. Queues are shown if there are several. A\n"
            "FILE.so needs no database; an alias stands for its active version.\n",
    .least = 1,
    .most = 1,
    .needs_database = true,
    .is_offline = is_offline,
    .examples = "pgflowctl graph audit\n"
                "pgflowctl graph ./audit_v2.so --format dot | dot -Tsvg > audit.svg\n",
    .run = execute,
    .options = {{"format", "mermaid|dot", "for which program (default: mermaid)"}},
};
