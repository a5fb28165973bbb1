#include "ctl/author/flow_difference.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_OF_VALUE = 200 };

struct comparison {
    struct json_view old_steps, new_steps;
    flow_line line;
    void *ctx;
    struct buf text; /* the line being made */
    struct buf one, other;
    bool failed;
};

static void tell(struct comparison *comparison, enum flow_line_kind kind)
{
    if (!buf_ok(&comparison->text))
        comparison->failed = true;
    else
        comparison->line(comparison->ctx, kind, comparison->text.data);
    buf_clear(&comparison->text);
}

/* As the document has it, cut; null and a missing one as "none". */
static void put_value(struct buf *out, const struct json_view *value)
{
    if (value == NULL || value->text[0] == 'n')
        buf_puts(out, "none");
    else
        buf_put(out, value->text, value->size < SHOWN_OF_VALUE ? value->size : SHOWN_OF_VALUE);
}

static bool is_equal(struct comparison *comparison, const struct json_view *one,
                     const struct json_view *other)
{
    bool one_is_null = one == NULL || one->text[0] == 'n';
    bool other_is_null = other == NULL || other->text[0] == 'n';

    if (one_is_null || other_is_null)
        return one_is_null && other_is_null;
    buf_clear(&comparison->one);
    buf_clear(&comparison->other);
    json_view_put_canonical(&comparison->one, *one);
    json_view_put_canonical(&comparison->other, *other);
    if (!buf_ok(&comparison->one) || !buf_ok(&comparison->other))
        comparison->failed = true;
    return comparison->one.size == comparison->other.size &&
           memcmp(comparison->one.data, comparison->other.data, comparison->one.size) == 0;
}

static const struct json_view *member(struct json_view object, const char *name,
                                      struct json_view *value)
{
    return json_view_member(object, name, value) ? value : NULL;
}

static void compare_values(struct comparison *comparison, enum flow_line_kind kind,
                           const char *what, const char *step, const struct json_view *before,
                           const struct json_view *after)
{
    if (is_equal(comparison, before, after))
        return;
    buf_printf(&comparison->text, "%s of %s: ", what, step);
    put_value(&comparison->text, before);
    buf_puts(&comparison->text, " -> ");
    put_value(&comparison->text, after);
    tell(comparison, kind);
}

static void compare_member(struct comparison *comparison, enum flow_line_kind kind,
                           const char *what, const char *step, struct json_view old,
                           struct json_view new, const char *name)
{
    struct json_view old_value, new_value;

    compare_values(comparison, kind, what, step, member(old, name, &old_value),
                   member(new, name, &new_value));
}

/* Of {"defined", "value"}: the value, or none. */
static void compare_pattern(struct comparison *comparison, const char *what, const char *step,
                            struct json_view old, struct json_view new, const char *name)
{
    struct json_view old_pattern, new_pattern;

    if (json_view_member(old, name, &old_pattern) && json_view_member(new, name, &new_pattern))
        compare_member(comparison, FLOW_DIFFERS, what, step, old_pattern, new_pattern, "value");
}

static bool find_step(struct json_view steps, struct json_view slug, struct json_view *found)
{
    struct json_walk walk = json_view_walk(steps);
    struct json_view step, its_slug;

    while (json_walk_element(&walk, &step))
        if (json_view_member(step, "slug", &its_slug) && its_slug.size == slug.size &&
            memcmp(its_slug.text, slug.text, slug.size) == 0) {
            *found = step;
            return true;
        }
    return false;
}

static bool has_element(struct json_view list, struct json_view wanted)
{
    struct json_walk walk = json_view_walk(list);
    struct json_view element;

    while (json_walk_element(&walk, &element))
        if (element.size == wanted.size && memcmp(element.text, wanted.text, wanted.size) == 0)
            return true;
    return false;
}

static bool is_part_of(struct json_view list, struct json_view other)
{
    struct json_walk walk = json_view_walk(list);
    struct json_view element;

    while (json_walk_element(&walk, &element))
        if (!has_element(other, element))
            return false;
    return true;
}

static void compare_dependencies(struct comparison *comparison, const char *step,
                                 struct json_view old, struct json_view new)
{
    struct json_view before, after;

    if (!json_view_member(old, "dependencies", &before) ||
        !json_view_member(new, "dependencies", &after) ||
        (is_part_of(before, after) && is_part_of(after, before)))
        return;
    buf_printf(&comparison->text, "dependencies of %s: ", step);
    put_value(&comparison->text, &before);
    buf_puts(&comparison->text, " -> ");
    put_value(&comparison->text, &after);
    tell(comparison, FLOW_DIFFERS);
}

static void note_contract(struct comparison *comparison, const char *step, struct json_view old,
                          struct json_view new)
{
    struct json_view before, after;
    bool had = json_view_member(old, "contract", &before) && before.text[0] != 'n';
    bool has = json_view_member(new, "contract", &after) && after.text[0] != 'n';

    if (had || has)
        return;
    buf_puts(&comparison->text, step);
    tell(comparison, FLOW_WITHOUT_CONTRACT);
}

static void compare_options(struct comparison *comparison, const char *step, struct json_view old,
                            struct json_view new)
{
    static const char *const names[] = {"maxAttempts", "baseDelay", "timeout", "startDelay"};
    struct json_view before, after;

    if (json_view_member(old, "options", &before) && json_view_member(new, "options", &after))
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            compare_member(comparison, FLOW_OPTION_DIFFERS, names[i], step, before, after,
                           names[i]);
}

/* What a flow does not set takes the default; what a step does not set, its flow's. */
static void compare_flow_options(struct comparison *comparison, struct json_view old,
                                 struct json_view new)
{
    static const struct {
        const char *name, *otherwise;
    } options[] = {{"maxAttempts", "3"}, {"baseDelay", "5"}, {"timeout", "60"}};
    struct json_view before, after;

    if (!json_view_member(old, "options", &before) || !json_view_member(new, "options", &after))
        return;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const struct json_view otherwise = {options[i].otherwise, strlen(options[i].otherwise)};
        struct json_view one = otherwise, other = otherwise;
        (void)json_view_member(before, options[i].name, &one);
        (void)json_view_member(after, options[i].name, &other);
        compare_values(comparison, FLOW_OPTION_DIFFERS, options[i].name, "the flow", &one, &other);
    }
}

static void compare_step(struct comparison *comparison, const char *step, struct json_view old,
                         struct json_view new)
{
    compare_member(comparison, FLOW_DIFFERS, "type", step, old, new, "stepType");
    compare_dependencies(comparison, step, old, new);
    compare_member(comparison, FLOW_DIFFERS, "whenUnmet", step, old, new, "whenUnmet");
    compare_member(comparison, FLOW_DIFFERS, "whenExhausted", step, old, new, "whenExhausted");
    compare_pattern(comparison, "requiredInputPattern", step, old, new, "requiredInputPattern");
    compare_pattern(comparison, "forbiddenInputPattern", step, old, new, "forbiddenInputPattern");
    compare_member(comparison, FLOW_DIFFERS, "route", step, old, new, "queue");
    compare_member(comparison, FLOW_DIFFERS, "contract", step, old, new, "contract");
    note_contract(comparison, step, old, new);
    compare_options(comparison, step, old, new);
    compare_member(comparison, FLOW_OPTION_DIFFERS, "wantsFlowInput", step, old, new,
                   "wantsFlowInput");
}

static void tell_of_step(struct comparison *comparison, struct json_view slug, const char *what)
{
    buf_puts(&comparison->text, "step ");
    buf_put(&comparison->text, slug.text + 1, slug.size - 2);
    buf_puts(&comparison->text, what);
    tell(comparison, FLOW_DIFFERS);
}

/* The steps of `steps` that `other` lacks. */
static size_t tell_missing(struct comparison *comparison, struct json_view steps,
                           struct json_view other, const char *what)
{
    struct json_walk walk = json_view_walk(steps);
    struct json_view step, slug, found;
    size_t missing = 0;

    while (json_walk_element(&walk, &step))
        if (json_view_member(step, "slug", &slug) && !find_step(other, slug, &found)) {
            tell_of_step(comparison, slug, what);
            missing++;
        }
    return missing;
}

/* The order of the steps is part of the shape. */
static void compare_order(struct comparison *comparison)
{
    struct json_walk old_walk = json_view_walk(comparison->old_steps);
    struct json_walk new_walk = json_view_walk(comparison->new_steps);
    struct json_view old, new, before, after;

    while (json_walk_element(&old_walk, &old) && json_walk_element(&new_walk, &new))
        if (json_view_member(old, "slug", &before) && json_view_member(new, "slug", &after) &&
            (before.size != after.size || memcmp(before.text, after.text, after.size) != 0)) {
            tell_of_step(comparison, before, " has another place in the order of the steps");
            return;
        }
}

static void compare_steps(struct comparison *comparison)
{
    struct json_walk walk = json_view_walk(comparison->old_steps);
    struct json_view old, new, slug;
    char step[LIMIT_SLUG + 16];

    size_t missing =
        tell_missing(comparison, comparison->old_steps, comparison->new_steps, " is lost") +
        tell_missing(comparison, comparison->new_steps, comparison->old_steps, " is new");
    if (missing == 0)
        compare_order(comparison);
    while (json_walk_element(&walk, &old))
        if (json_view_member(old, "slug", &slug) && find_step(comparison->new_steps, slug, &new)) {
            (void)snprintf(step, sizeof step, "step %.*s", (int)slug.size - 2, slug.text + 1);
            compare_step(comparison, step, old, new);
        }
}

bool flow_compare(struct json_view old, struct json_view new, flow_line line, void *ctx,
                  struct error *error)
{
    struct comparison comparison = {.line = line, .ctx = ctx};

    if (!json_view_member(old, "steps", &comparison.old_steps) ||
        !json_view_member(new, "steps", &comparison.new_steps))
        return error_set(error, ERROR_INTERNAL, "a descriptor without steps");
    buf_init(&comparison.text, LIMIT_MIB);
    buf_init(&comparison.one, LIMIT_DESCRIPTOR_JSON);
    buf_init(&comparison.other, LIMIT_DESCRIPTOR_JSON);
    compare_member(&comparison, FLOW_DIFFERS, "alias", "the flow", old, new, "alias");
    compare_member(&comparison, FLOW_DIFFERS, "queue mode", "the flow", old, new, "queueMode");
    compare_steps(&comparison);
    compare_flow_options(&comparison, old, new);
    buf_free(&comparison.text);
    buf_free(&comparison.one);
    buf_free(&comparison.other);
    return !comparison.failed || error_out_of_memory(error);
}
