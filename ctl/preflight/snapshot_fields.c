#include "ctl/preflight/snapshot_fields.h"

#include "base/buf.h"
#include "base/limits.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool snapshot_wrong(const struct snapshot_object *object, const char *member, const char *expected)
{
    return error_set(object->error, ERROR_CONFIG,
                     "the snapshot is not one: %s[%zu].%s is not %s; take a new one: pgflowctl "
                     "snapshot",
                     object->list, object->index, member, expected);
}

/* Texts of a snapshot are short; one that does not fit is none. */
static bool copy_text(struct json_view view, char *out, size_t size)
{
    struct buf text;
    buf_init(&text, size - 1);
    json_view_put_string(&text, view);
    bool fits = buf_ok(&text);
    if (fits)
        memcpy(out, text.data, text.size + 1);
    buf_free(&text);
    return fits;
}

bool snapshot_text(const struct snapshot_object *object, const char *member, bool may_be_null,
                   char *out, size_t size)
{
    struct json_view value;
    out[0] = '\0';
    if (!json_view_member(object->view, member, &value))
        return snapshot_wrong(object, member, "there");
    if (value.text[0] == 'n' && may_be_null)
        return true;
    if (value.text[0] != '"' || !copy_text(value, out, size))
        return snapshot_wrong(object, member, "a text of that kind");
    return true;
}

bool snapshot_bool(const struct snapshot_object *object, const char *member, bool *out)
{
    struct json_view value;
    if (!json_view_member(object->view, member, &value) ||
        (value.text[0] != 't' && value.text[0] != 'f'))
        return snapshot_wrong(object, member, "true or false");
    *out = value.text[0] == 't';
    return true;
}

bool snapshot_count(const struct snapshot_object *object, const char *member, uint64_t *out)
{
    struct json_view value;
    *out = 0;
    if (!json_view_member(object->view, member, &value) || value.size > 18)
        return snapshot_wrong(object, member, "a count");
    for (size_t i = 0; i < value.size; i++) {
        if (!isdigit((unsigned char)value.text[i]))
            return snapshot_wrong(object, member, "a count");
        *out = *out * 10 + (uint64_t)(value.text[i] - '0');
    }
    return true;
}

bool snapshot_member(const struct snapshot_object *object, const char *member, char kind,
                     struct json_view *out)
{
    if (!json_view_member(object->view, member, out) || out->text[0] != kind)
        return snapshot_wrong(object, member, kind == '[' ? "a list" : "an object");
    return true;
}

static bool is_text_or_null(struct json_view object, const char *name, bool may_be_null)
{
    struct json_view value;
    return json_view_member(object, name, &value) &&
           (value.text[0] == '"' || (may_be_null && value.text[0] == 'n'));
}

static bool are_texts(struct json_view list)
{
    struct json_walk walk = json_view_walk(list);
    struct json_view element;
    while (json_walk_element(&walk, &element))
        if (element.text[0] != '"')
            return false;
    return true;
}

static bool is_whole_step(struct json_view step)
{
    static const char *const texts[] = {"slug", "stepType", "queue", "whenUnmet", "whenExhausted"};
    static const char *const objects[] = {"requiredInputPattern", "forbiddenInputPattern",
                                          "options"};
    struct json_view value;

    if (step.text[0] != '{')
        return false;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!is_text_or_null(step, texts[i], false))
            return false;
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++)
        if (!json_view_member(step, objects[i], &value) || value.text[0] != '{')
            return false;
    if (!json_view_member(step, "slug", &value) || value.size > LIMIT_SLUG + 2)
        return false;
    return is_text_or_null(step, "contract", true) &&
           json_view_member(step, "dependencies", &value) && value.text[0] == '[' &&
           are_texts(value);
}

bool snapshot_check_deployment(const struct snapshot_object *flow, struct json_view deployment)
{
    struct json_view value, step;

    if (!is_text_or_null(deployment, "queueMode", false) ||
        !json_view_member(deployment, "options", &value) || value.text[0] != '{' ||
        !json_view_member(deployment, "steps", &value) || value.text[0] != '[')
        return snapshot_wrong(flow, "deployment", "a flow");
    struct json_walk walk = json_view_walk(value);
    while (json_walk_element(&walk, &step))
        if (!is_whole_step(step))
            return snapshot_wrong(flow, "deployment", "a flow with whole steps");
    return true;
}
