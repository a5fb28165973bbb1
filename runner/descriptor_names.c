/* Checks on the names in a descriptor: slugs, alias, and the dependencies, which are
 * names of earlier steps; so a cycle cannot be written down. */
#include "runner/descriptor_reading.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char slug_rule[] = "1 to 128 letters, digits and single inner '_', not beginning with "
                                "a digit, and not 'run'";

static bool check_slug(struct reading *reading, const char *field, const char *foreign,
                       const char **out)
{
    const char *slug = NULL;
    if (!reading_text(reading, field, foreign, LIMIT_DESCRIPTOR_TEXT, &slug))
        return false;
    if (!text_is_deployment_slug(slug))
        return reading_refuse(reading, field, found_text(reading, slug, strlen(slug)), slug_rule,
                              "rename it");
    *out = slug;
    return true;
}

bool check_slugs(struct reading *reading)
{
    if (!check_slug(reading, "flow_slug", reading->module.flow_slug, &reading->out->flow_slug))
        return false;
    for (uint32_t i = 0; i < reading->module.n_steps; i++)
        if (!check_slug(reading, field_of_step(reading, i, "slug"), reading->raw[i].slug,
                        &reading->steps[i].slug))
            return false;
    return true;
}

bool check_alias(struct reading *reading)
{
    reading->out->alias = reading->out->flow_slug;
    return reading->module.alias == NULL ||
           check_slug(reading, "alias", reading->module.alias, &reading->out->alias);
}

static int compare_entries(const void *a, const void *b)
{
    const struct slug_entry *left = a;
    const struct slug_entry *right = b;
    int names = strcmp(left->lower, right->lower);
    return names != 0 ? names : (left->step > right->step) - (left->step < right->step);
}

static bool sort_slugs(struct reading *reading)
{
    uint32_t n = reading->module.n_steps;
    reading->by_name = calloc(n, sizeof *reading->by_name);
    if (reading->by_name == NULL)
        return error_out_of_memory(reading->error);
    for (uint32_t i = 0; i < n; i++) {
        char *lower = reading_alloc(reading, LIMIT_SLUG + 1);
        if (lower == NULL || !text_lower(lower, LIMIT_SLUG + 1, reading->steps[i].slug))
            return false;
        reading->by_name[i] = (struct slug_entry){lower, i};
    }
    qsort(reading->by_name, n, sizeof *reading->by_name, compare_entries);
    return true;
}

bool check_unique_slugs(struct reading *reading)
{
    if (!sort_slugs(reading))
        return false;
    for (uint32_t i = 1; i < reading->module.n_steps; i++) {
        const struct slug_entry *first = &reading->by_name[i - 1];
        const struct slug_entry *second = &reading->by_name[i];
        if (strcmp(first->lower, second->lower) == 0)
            return reading_refuse(reading, field_of_step(reading, second->step, "slug"),
                                  found_format(reading, "that of steps[%u] ('%s') too",
                                               (unsigned)first->step,
                                               reading->steps[first->step].slug),
                                  "slugs that differ, whatever their case", "rename one of them");
    }
    return true;
}

static int compare_with_entry(const void *name, const void *entry)
{
    return strcmp(name, ((const struct slug_entry *)entry)->lower);
}

/* The step with exactly that slug; n_steps: none. */
static uint32_t find_step(const struct reading *reading, const char *slug)
{
    char lower[LIMIT_SLUG + 1];
    uint32_t n = reading->module.n_steps;
    if (!text_lower(lower, sizeof lower, slug))
        return n;
    const struct slug_entry *entry =
        bsearch(lower, reading->by_name, n, sizeof *entry, compare_with_entry);
    return entry != NULL && strcmp(reading->steps[entry->step].slug, slug) == 0 ? entry->step : n;
}

static bool refuse_dependency(struct reading *reading, const char *field, const char *name,
                              uint32_t step, uint32_t found)
{
    const char *earlier[LIMIT_STEPS];
    char fix[LIMIT_SLUG + 64] = "name a step that stands before this one";
    if (found == step)
        return reading_refuse(reading, field, found_text(reading, name, strlen(name)),
                              "the slug of an earlier step, not its own", "remove it");
    if (found < reading->module.n_steps)
        return reading_refuse(reading, field, found_text(reading, name, strlen(name)),
                              "the slug of an earlier step; this one comes later",
                              "move it before the steps that depend on it, and break any cycle");
    for (uint32_t i = 0; i < step; i++)
        earlier[i] = reading->steps[i].slug;
    const char *near = text_nearest(name, earlier, step);
    if (near != NULL)
        snprintf(fix, sizeof fix, "did you mean '%s'?", near);
    return reading_refuse(reading, field, found_text(reading, name, strlen(name)),
                          "the slug of an earlier step; there is none of that name", fix);
}

/* Reads the k-th name of the list into reading->text; *last: the list is over. */
static bool next_dependency(struct reading *reading, uint32_t step, uint32_t k, bool *last)
{
    char field[48];
    const char *foreign = NULL;
    size_t size = 0;
    uintptr_t list = (uintptr_t)reading->raw[step].deps;
    snprintf(field, sizeof field, "deps[%u]", (unsigned)k);
    if (!reading_copy(reading, field_of_step(reading, step, field), list + k * sizeof foreign,
                      &foreign, sizeof foreign))
        return false;
    *last = foreign == NULL;
    return *last || reading_peek(reading, reading->field, foreign, LIMIT_DESCRIPTOR_TEXT, &size);
}

/* `seen` has a byte for each step. Each accepted name is another earlier step, so a list
 * without an end is refused after at most as many names as there are steps. */
static bool read_dependencies(struct reading *reading, uint32_t step, uint32_t *deps, char *seen)
{
    uint32_t n = 0;
    char field[48];
    bool last = false;
    const char *name = reading->text;
    memset(seen, 0, reading->module.n_steps);
    while (next_dependency(reading, step, n, &last)) {
        if (last) {
            reading->steps[step].deps = deps;
            reading->steps[step].n_deps = n;
            return true;
        }
        uint32_t found = find_step(reading, name);
        snprintf(field, sizeof field, "deps[%u]", (unsigned)n);
        if (found >= step)
            return refuse_dependency(reading, field_of_step(reading, step, field), name, step,
                                     found);
        if (seen[found])
            return reading_refuse(reading, field_of_step(reading, step, field),
                                  found_format(reading, "\"%s\" a second time", name),
                                  "each dependency once", "remove one of them");
        seen[found] = 1;
        deps[n++] = found;
    }
    return false;
}

bool check_dependencies(struct reading *reading)
{
    char seen[LIMIT_STEPS];
    for (uint32_t i = 0; i < reading->module.n_steps; i++) {
        if (reading->raw[i].deps == NULL)
            continue;
        uint32_t *deps = reading_alloc(reading, (i + 1) * sizeof *deps);
        if (deps == NULL || !read_dependencies(reading, i, deps, seen))
            return false;
    }
    return true;
}

bool check_maps(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->module.n_steps; i++) {
        const pgf_step *raw = &reading->raw[i];
        uint32_t n = reading->steps[i].n_deps;
        if (raw->kind != PGF_STEP_MAP)
            continue;
        if (n > 1)
            return reading_refuse(reading, field_of_step(reading, i, "deps"),
                                  found_format(reading, "%u names", (unsigned)n),
                                  "at most one in a map step",
                                  "put a single step between that builds the array");
        if (n == 0 && (raw->flags & PGF_WANTS_FLOW_INPUT) != 0)
            return reading_refuse(reading, field_of_step(reading, i, "flags"),
                                  "PGF_WANTS_FLOW_INPUT",
                                  "no such flag in a map without dependency, whose elements are "
                                  "the run's input",
                                  "remove the flag");
    }
    return true;
}
