#include "ctl/replay/findings.h"

#include "ctl/replay/json_diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTCOME "(outcome)"
/* What counts as slower or larger: twice and half as much again, and more than noise. */
enum { SLOWER_PERCENT = 200, SLOWER_US = 1000, LARGER_PERCENT = 150, LARGER_KIB = 16 * 1024 };
enum { TIMES_MOST = 1 << 22 };

struct marks {
    struct marks *next;
    size_t count;
    uint16_t fields[];
};

/* One comparison under way. */
struct judging {
    struct findings *findings;
    struct step_findings *step;
    const struct replayed *task;
    bool marks_unstable; /* of OLD */
    uint16_t fields[FIELDS_MOST];
    size_t count;
    bool failed;
};

bool findings_open(struct findings *findings, const struct plan *plan, bool has_baseline,
                   const char *ignored, struct error *error)
{
    *findings = (struct findings){.plan = plan, .has_baseline = has_baseline};
    findings->steps = calloc(plan->count + 1, sizeof *findings->steps);
    size_t most = 1;
    for (const char *at = ignored; at != NULL && *at != '\0'; at++)
        most += *at == ',';
    findings->ignored = calloc(most, sizeof *findings->ignored);
    if (findings->steps == NULL || findings->ignored == NULL)
        return error_out_of_memory(error);
    size_t size = 0;
    for (const char *at = ignored; at != NULL; at = at[size] == ',' ? at + size + 1 : NULL) {
        size = strcspn(at, ",");
        if (*at != '/')
            return error_set(error, ERROR_USAGE,
                             "--ignore: a path begins with /, as /items/*/at does");
        findings->ignored[findings->ignored_count] = strndup(at, size);
        if (findings->ignored[findings->ignored_count++] == NULL)
            return error_out_of_memory(error);
    }
    return true;
}

static void free_step(struct step_findings *step)
{
    for (size_t i = 0; i < step->field_count; i++) {
        free(step->fields[i].name);
        free(step->fields[i].path);
        free(step->fields[i].before);
        free(step->fields[i].after);
    }
    while (step->marks != NULL) {
        struct marks *next = step->marks->next;
        free(step->marks);
        step->marks = next;
    }
    free(step->us[0]);
    free(step->us[1]);
}

void findings_close(struct findings *findings)
{
    for (size_t i = 0; findings->steps != NULL && i < findings->plan->count; i++)
        free_step(&findings->steps[i]);
    for (size_t i = 0; i < findings->ignored_count; i++)
        free(findings->ignored[i]);
    free(findings->ignored);
    free(findings->steps);
    *findings = (struct findings){.plan = NULL};
}

/* ---- Fields ---- */

/* Beyond the most, all further ones are the last. NULL: no memory. */
static struct field *field_of(struct step_findings *step, const char *name)
{
    for (size_t i = 0; i < step->field_count; i++)
        if (strcmp(step->fields[i].name, name) == 0)
            return &step->fields[i];
    if (step->field_count == FIELDS_MOST - 1)
        name = "(others)";
    if (step->field_count == FIELDS_MOST)
        return &step->fields[FIELDS_MOST - 1];
    struct field *field = &step->fields[step->field_count];
    field->name = strdup(name);
    step->field_count += field->name != NULL;
    return field->name != NULL ? field : NULL;
}

/* Whole characters of UTF-8. */
static char *cut(const char *text, size_t size)
{
    size_t kept = size < SHOWN_MOST ? size : SHOWN_MOST;
    while (kept < size && kept > 0 && ((unsigned char)text[kept] & 0xC0U) == 0x80U)
        kept--;
    return strndup(text, kept);
}

static bool keep_first(struct field *field, const struct judging *judging, const char *path,
                       const struct json_view *before, const struct json_view *after)
{
    field->path = strdup(path);
    field->before = before != NULL ? cut(before->text, before->size) : NULL;
    field->after = after != NULL ? cut(after->text, after->size) : NULL;
    (void)snprintf(field->run_id, sizeof field->run_id, "%s", judging->task->run_id);
    field->task_index = judging->task->task_index;
    return field->path != NULL && (before == NULL || field->before != NULL) &&
           (after == NULL || field->after != NULL);
}

static void note(struct judging *judging, const char *name, const char *path,
                 const struct json_view *before, const struct json_view *after)
{
    struct field *field = field_of(judging->step, name);
    if (field == NULL) {
        judging->failed = true;
        return;
    }
    if (judging->marks_unstable) {
        field->unstable = true;
        return;
    }
    uint16_t index = (uint16_t)(field - judging->step->fields);
    for (size_t i = 0; i < judging->count; i++)
        if (judging->fields[i] == index)
            return;
    judging->fields[judging->count++] = index;
    if (field->tasks++ == 0 && !keep_first(field, judging, path, before, after))
        judging->failed = true;
}

static void on_difference(void *ctx, const struct json_difference *difference)
{
    struct judging *judging = ctx;
    const struct findings *findings = judging->findings;
    for (size_t i = 0; i < findings->ignored_count; i++)
        if (json_diff_is_below(difference->path, findings->ignored[i]))
            return;
    note(judging, difference->field, difference->path, difference->before, difference->after);
}

/* ---- One task ---- */

static struct json_view view_of(const char *text, size_t size)
{
    while (size > 0 && strchr(" \t\r\n", text[0]) != NULL) {
        text++;
        size--;
    }
    while (size > 0 && strchr(" \t\r\n", text[size - 1]) != NULL)
        size--;
    return (struct json_view){text, size};
}

static struct json_view outcome_of(bool completed, const struct ending *ending, char *room,
                                   size_t size)
{
    if (completed)
        (void)snprintf(room, size, "completed");
    else if (ending == NULL)
        (void)snprintf(room, size, "failed");
    else
        (void)snprintf(room, size, "%s: %.*s", ending->died ? "died" : "failed",
                       ending->size < SHOWN_MOST / 2 ? (int)ending->size : SHOWN_MOST / 2,
                       ending->text);
    return (struct json_view){room, strlen(room)};
}

/* `before` NULL: the record. */
static bool compare(struct judging *judging, const struct ending *before,
                    const struct ending *after, struct error *error)
{
    const struct replayed *task = judging->task;
    bool was_completed = before != NULL ? before->completed : task->was_completed;
    char old[SHOWN_MOST * 2], new[SHOWN_MOST * 2];
    bool died = after->died && (before == NULL || !before->died);
    if (was_completed != after->completed || (died && judging->marks_unstable)) {
        struct json_view was = outcome_of(was_completed, before, old, sizeof old);
        struct json_view is = outcome_of(after->completed, after, new, sizeof new);
        note(judging, OUTCOME, OUTCOME, &was, &is);
        return true;
    }
    if (!after->completed)
        return true;
    const char *output = before != NULL ? before->text : task->output;
    size_t size = before != NULL ? before->size : strlen(output);
    return json_diff(view_of(output, size), view_of(after->text, after->size), on_difference,
                     judging, error);
}

static bool keep_time(struct step_findings *step, size_t build, const struct ending *ending)
{
    if (ending->rss_kib > step->rss_kib[build])
        step->rss_kib[build] = ending->rss_kib;
    if (step->us_count[build] == step->us_room[build]) {
        size_t room = step->us_room[build] * 2 + 256;
        uint64_t *larger =
            room <= TIMES_MOST ? realloc(step->us[build], room * sizeof *larger) : NULL;
        if (larger == NULL)
            return room > TIMES_MOST; /* enough of them for a median */
        step->us[build] = larger;
        step->us_room[build] = room;
    }
    step->us[build][step->us_count[build]++] = ending->us;
    return true;
}

static bool keep_marks(struct judging *judging)
{
    size_t size = judging->count * sizeof judging->fields[0];
    if (judging->count == 0)
        return true;
    struct marks *marks = malloc(sizeof *marks + size);
    if (marks == NULL)
        return false;
    marks->count = judging->count;
    memcpy(marks->fields, judging->fields, size);
    marks->next = judging->step->marks;
    judging->step->marks = marks;
    return true;
}

bool findings_judge(struct findings *findings, const struct replayed *task, struct error *error)
{
    struct step_findings *step = &findings->steps[task->step];
    struct judging judging = {.findings = findings, .step = step, .task = task};
    const struct ending *endings = task->endings;
    step->tasks++;
    step->died += endings[NEW_BUILD].died;
    bool kept = keep_time(step, 0, &endings[NEW_BUILD]);
    bool ok = compare(&judging, NULL, &endings[NEW_BUILD], error);
    if (ok && endings[OLD_BUILD].here) {
        judging.marks_unstable = true;
        ok = compare(&judging, NULL, &endings[OLD_BUILD], error) &&
             compare(&judging, &endings[OLD_BUILD], &endings[OLD_AGAIN], error);
        kept = kept && keep_time(step, 1, &endings[OLD_BUILD]) &&
               keep_time(step, 1, &endings[OLD_AGAIN]);
    }
    if (!ok)
        return false;
    return (kept && !judging.failed && keep_marks(&judging)) || error_out_of_memory(error);
}

/* ---- At the end ---- */

bool findings_is_regression(const struct step_findings *step, const struct field *field)
{
    if (field->tasks == 0)
        return false;
    if (field->name[0] == '(')
        return !field->unstable;
    for (size_t i = 0; i < step->field_count; i++) {
        const struct field *other = &step->fields[i];
        if (other->unstable && other->name[0] != '(' &&
            json_diff_is_below(field->name, other->name))
            return false;
    }
    return true;
}

size_t findings_differing(const struct step_findings *step)
{
    size_t tasks = 0;
    for (const struct marks *marks = step->marks; marks != NULL; marks = marks->next) {
        bool differs = false;
        for (size_t i = 0; i < marks->count; i++)
            differs = differs || findings_is_regression(step, &step->fields[marks->fields[i]]);
        tasks += differs;
    }
    return tasks;
}

static int by_size(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

uint64_t findings_time(struct step_findings *step, size_t build, unsigned percent)
{
    size_t count = step->us_count[build];
    if (count == 0)
        return 0;
    qsort(step->us[build], count, sizeof *step->us[build], by_size);
    return step->us[build][(count - 1) * percent / 100];
}

bool findings_is_slower(struct step_findings *step)
{
    uint64_t new = findings_time(step, 0, 50), old = findings_time(step, 1, 50);
    return step->us_count[1] > 0 && new * 100 > old *SLOWER_PERCENT &&new > old + SLOWER_US;
}

bool findings_is_larger(const struct step_findings *step)
{
    uint64_t new = step->rss_kib[0], old = step->rss_kib[1];
    return old > 0 && new * 100 > old *LARGER_PERCENT &&new > old + LARGER_KIB;
}

bool findings_step_differs(struct step_findings *step)
{
    return findings_differing(step) > 0 || findings_is_slower(step) || findings_is_larger(step);
}
