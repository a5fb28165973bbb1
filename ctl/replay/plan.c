#include "ctl/replay/plan.h"

#include "ctl/query.h"
#include "db/sync.h"

#include "base/buf.h"
#include "base/text.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPENDENCIES_MOST ((size_t)1 << 20)

enum column { SLUG, TYPE, CONTRACT, WANTS, TIMEOUT, ATTEMPTS, DEPENDENCIES };

static const char steps_sql[] =
    "select s.step_slug, s.step_type, s.contract, s.wants_flow_input or s.deps_count = 0 and "
    "s.step_type = 'single', coalesce(s.opt_timeout, f.opt_timeout), "
    "coalesce(s.opt_max_attempts, f.opt_max_attempts), coalesce((select string_agg(d.dep_slug, ',' "
    "order by d.dep_slug collate \"C\") from pgflow.deps d where d.flow_slug = s.flow_slug and "
    "d.step_slug = s.step_slug), '') from pgflow.flows f join pgflow.steps s using (flow_slug) "
    "where f.flow_slug = $1 order by s.step_index";

static const char *text_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static const cJSON *find_step(const cJSON *module, const char *slug, uint32_t *index)
{
    const cJSON *step = NULL;
    *index = 0;
    cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(module, "steps"))
    {
        const char *its = text_of(step, "slug");
        if (its != NULL && strcmp(its, slug) == 0)
            return step;
        ++*index;
    }
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has_dependencies(const cJSON *step, const char *wanted)
{
    const char *names[LIMIT_STEPS];
    size_t count = 0;
    const cJSON *item = NULL;
    struct buf text;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(step, "dependencies"))
    {
        if (item->valuestring != NULL && count < LIMIT_STEPS)
            names[count++] = item->valuestring;
    }
    buf_init(&text, DEPENDENCIES_MOST);
    if (count > 0)
        qsort(names, count, sizeof names[0], by_text);
    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "%s%s", i > 0 ? "," : "", names[i]);
    buf_puts(&text, "");
    bool equal = count == 0 ? *wanted == '\0' : buf_ok(&text) && strcmp(text.data, wanted) == 0;
    buf_free(&text);
    return equal;
}

static bool is_equal_text(const char *one, const char *other)
{
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

/* NULL: a step whose recorded tasks the module can take. */
static const char *why_not(const struct db_rows *rows, size_t row, const cJSON *step)
{
    if (step == NULL)
        return "the module has no such step";
    if (!is_equal_text(text_of(step, "stepType"), db_rows_text(rows, row, TYPE)))
        return "it has another type";
    if (!has_dependencies(step, db_rows_text(rows, row, DEPENDENCIES)))
        return "it has other dependencies";
    if (!is_equal_text(text_of(step, "contract"), db_rows_text(rows, row, CONTRACT)))
        return "it has another contract";
    return NULL;
}

static void leave(struct plan *plan, const char *slug, const char *why)
{
    struct plan_left *left = &plan->left[plan->left_count++];
    (void)snprintf(left->slug, sizeof left->slug, "%s", slug);
    left->why = why;
}

static bool is_true(const char *text)
{
    return text != NULL && text[0] == 't';
}

static void add_step(struct plan *plan, const struct db_rows *rows, size_t row, const char *flow,
                     const cJSON *new, const cJSON *old)
{
    const char *slug = db_rows_text(rows, row, SLUG);
    struct plan_step *step = &plan->steps[plan->count];
    const cJSON *its = find_step(new, slug, &step->index[0]);
    const char *why = why_not(rows, row, its);
    if (why != NULL) {
        leave(plan, slug, why);
        return;
    }
    const cJSON *before = find_step(old, slug, &step->index[1]);
    const char *own = text_of(new, "flowSlug");
    step->in_old = before != NULL && why_not(rows, row, before) == NULL;
    (void)snprintf(step->slug, sizeof step->slug, "%s", slug);
    step->takes_flow_input = is_true(db_rows_text(rows, row, WANTS));
    /* Under a slug of its own the database would have what the module says. */
    if (own != NULL && strcmp(own, flow) != 0 &&
        cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(its, "wantsFlowInput")))
        step->takes_flow_input = true;
    step->timeout_s = (uint32_t)strtoul(db_rows_text(rows, row, TIMEOUT), NULL, 10);
    step->max_attempts = (int32_t)strtol(db_rows_text(rows, row, ATTEMPTS), NULL, 10);
    plan->count++;
}

static bool is_recorded(const struct db_rows *rows, const char *slug)
{
    for (size_t row = 0; row < db_rows_count(rows); row++)
        if (strcmp(db_rows_text(rows, row, SLUG), slug) == 0)
            return true;
    return false;
}

/* Steps that only NEW has. */
static void leave_new_ones(struct plan *plan, const struct db_rows *rows, const char *wanted,
                           const cJSON *new)
{
    const cJSON *step = NULL;
    cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(new, "steps"))
    {
        const char *slug = text_of(step, "slug");
        if (slug != NULL && !is_recorded(rows, slug) &&
            (wanted == NULL || strcmp(wanted, slug) == 0))
            leave(plan, slug, "nothing is recorded of it: it is new");
    }
}

bool plan_make(struct plan *plan, struct db_sync *db, const char *flow, const char *step,
               const cJSON *new, const cJSON *old, struct error *error)
{
    *plan = (struct plan){.count = 0};
    struct db_rows *rows = query_rows(db, steps_sql, &flow, 1, error);
    if (rows == NULL)
        return false;
    size_t most = db_rows_count(rows) +
                  (size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(new, "steps")) + 1;
    plan->steps = calloc(most, sizeof *plan->steps);
    plan->left = calloc(most, sizeof *plan->left);
    if (plan->steps == NULL || plan->left == NULL) {
        db_rows_destroy(rows);
        return error_out_of_memory(error);
    }
    bool ok = db_rows_count(rows) > 0 || query_no_flow(db, flow, error);
    for (size_t row = 0; ok && row < db_rows_count(rows); row++)
        if (step == NULL || strcmp(step, db_rows_text(rows, row, SLUG)) == 0)
            add_step(plan, rows, row, flow, new, old);
    if (ok)
        leave_new_ones(plan, rows, step, new);
    db_rows_destroy(rows);
    if (ok && plan->count + plan->left_count == 0)
        ok = error_set(error, ERROR_USAGE, "%s has no step '%s'; pgflowctl graph shows them", flow,
                       text_shown(step));
    return ok;
}

void plan_free(struct plan *plan)
{
    free(plan->steps);
    free(plan->left);
    *plan = (struct plan){.count = 0};
}
