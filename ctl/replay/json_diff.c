#include "ctl/replay/json_diff.h"

#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

#define PATH_MOST ((size_t)1 << 20)
#define VALUE_MOST ((size_t)1 << 30)

struct diff {
    json_diff_found found;
    void *ctx;
    struct buf path, field;
    struct buf one, other;
    bool failed;
};

struct member {
    char *key;
    size_t place;
    struct json_view value;
};

struct members {
    struct member *items;
    size_t count, room;
};

static void tell(struct diff *diff, const struct json_view *before, const struct json_view *after)
{
    buf_put(&diff->path, "", 1);
    buf_put(&diff->field, "", 1);
    if (!buf_ok(&diff->path) || !buf_ok(&diff->field)) {
        diff->failed = true;
        return;
    }
    diff->found(diff->ctx,
                &(struct json_difference){diff->path.data, diff->field.data, before, after});
    diff->path.size--;
    diff->field.size--;
}

static bool is_equal(struct diff *diff, struct json_view before, struct json_view after)
{
    if (before.size == after.size && memcmp(before.text, after.text, before.size) == 0)
        return true;
    buf_clear(&diff->one);
    buf_clear(&diff->other);
    json_view_put_canonical(&diff->one, before);
    json_view_put_canonical(&diff->other, after);
    if (!buf_ok(&diff->one) || !buf_ok(&diff->other))
        diff->failed = true;
    return diff->one.size == diff->other.size &&
           memcmp(diff->one.data, diff->other.data, diff->one.size) == 0;
}

/* ---- Objects ---- */

static int by_key_and_place(const void *a, const void *b)
{
    const struct member *one = a, *other = b;
    int order = strcmp(one->key, other->key);
    return order != 0 ? order : (one->place > other->place) - (one->place < other->place);
}

static void free_members(struct members *members)
{
    for (size_t i = 0; i < members->count; i++)
        free(members->items[i].key);
    free(members->items);
}

static char *read_key(struct json_view key)
{
    struct buf text;
    size_t size = 0;
    buf_init(&text, VALUE_MOST);
    json_view_put_string(&text, key);
    buf_putc(&text, '\0');
    char *copy = buf_ok(&text) ? buf_detach(&text, &size) : NULL;
    buf_free(&text);
    return copy;
}

/* By key, the last of several of one name. */
static bool read_members(struct members *members, struct json_view object)
{
    struct json_walk walk = json_view_walk(object);
    struct json_view key, value;
    size_t kept = 0;
    while (json_walk_member(&walk, &key, &value)) {
        if (members->count == members->room) {
            size_t room = members->room * 2 + 8;
            struct member *larger = realloc(members->items, room * sizeof *larger);
            if (larger == NULL)
                return false;
            members->items = larger;
            members->room = room;
        }
        struct member *member = &members->items[members->count];
        *member = (struct member){read_key(key), members->count, value};
        if (member->key == NULL)
            return false;
        members->count++;
    }
    if (members->count > 0)
        qsort(members->items, members->count, sizeof *members->items, by_key_and_place);
    for (size_t i = 0; i < members->count; i++) {
        if (i + 1 < members->count && strcmp(members->items[i].key, members->items[i + 1].key) == 0)
            free(members->items[i].key);
        else
            members->items[kept++] = members->items[i];
    }
    members->count = kept;
    return true;
}

static void put_part(struct buf *path, const char *part)
{
    buf_putc(path, '/');
    for (; *part != '\0'; part++) {
        if (*part == '~' || *part == '/')
            buf_puts(path, *part == '~' ? "~0" : "~1");
        else
            buf_putc(path, *part);
    }
}

static void compare(struct diff *diff, struct json_view before, struct json_view after);

static void compare_parts(struct diff *diff, const struct json_view *before,
                          const struct json_view *after)
{
    if (before != NULL && after != NULL)
        compare(diff, *before, *after);
    else
        tell(diff, before, after);
}

static void compare_objects(struct diff *diff, const struct members *before,
                            const struct members *after)
{
    size_t path_size = diff->path.size, field_size = diff->field.size;
    for (size_t i = 0, j = 0; i < before->count || j < after->count;) {
        int order = i == before->count  ? 1
                    : j == after->count ? -1
                                        : strcmp(before->items[i].key, after->items[j].key);
        const char *key = order <= 0 ? before->items[i].key : after->items[j].key;
        put_part(&diff->path, key);
        put_part(&diff->field, key);
        compare_parts(diff, order <= 0 ? &before->items[i].value : NULL,
                      order >= 0 ? &after->items[j].value : NULL);
        i += order <= 0;
        j += order >= 0;
        diff->path.size = path_size;
        diff->field.size = field_size;
    }
}

/* ---- Values ---- */

static void compare_arrays(struct diff *diff, struct json_view before, struct json_view after)
{
    struct json_walk old = json_view_walk(before), new = json_view_walk(after);
    size_t path_size = diff->path.size, field_size = diff->field.size;
    for (size_t i = 0;; i++) {
        struct json_view one, other;
        bool is_old = json_walk_element(&old, &one);
        bool is_new = json_walk_element(&new, &other);
        if (!is_old && !is_new)
            return;
        buf_printf(&diff->path, "/%zu", i);
        buf_puts(&diff->field, "/*");
        compare_parts(diff, is_old ? &one : NULL, is_new ? &other : NULL);
        diff->path.size = path_size;
        diff->field.size = field_size;
    }
}

static void compare(struct diff *diff, struct json_view before, struct json_view after)
{
    if (diff->failed || is_equal(diff, before, after))
        return;
    if (before.text[0] == '[' && after.text[0] == '[') {
        compare_arrays(diff, before, after);
    } else if (before.text[0] == '{' && after.text[0] == '{') {
        struct members old = {.count = 0}, new = {.count = 0};
        if (read_members(&old, before) && read_members(&new, after))
            compare_objects(diff, &old, &new);
        else
            diff->failed = true;
        free_members(&old);
        free_members(&new);
    } else {
        tell(diff, &before, &after);
    }
}

bool json_diff(struct json_view before, struct json_view after, json_diff_found found, void *ctx,
               struct error *error)
{
    struct diff diff = {.found = found, .ctx = ctx};
    buf_init(&diff.path, PATH_MOST);
    buf_init(&diff.field, PATH_MOST);
    buf_init(&diff.one, VALUE_MOST);
    buf_init(&diff.other, VALUE_MOST);
    compare(&diff, before, after);
    buf_free(&diff.path);
    buf_free(&diff.field);
    buf_free(&diff.one);
    buf_free(&diff.other);
    return !diff.failed || error_out_of_memory(error);
}

bool json_diff_is_below(const char *path, const char *pattern)
{
    while (*pattern != '\0') {
        if (*path != '/' || *pattern != '/')
            return false;
        size_t part = strcspn(path + 1, "/"), wanted = strcspn(pattern + 1, "/");
        bool any = wanted == 1 && pattern[1] == '*';
        if (!any && (part != wanted || memcmp(path + 1, pattern + 1, part) != 0))
            return false;
        path += 1 + part;
        pattern += 1 + wanted;
    }
    return *path == '\0' || *path == '/';
}
