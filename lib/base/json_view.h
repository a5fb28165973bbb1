/*
 * JSON text read in place: a view is a value within a text that json_check_text has accepted.
 * Nothing is copied, numbers stay text. For documents in which every digit counts: what a
 * descriptor says of patterns, which PostgreSQL keeps as jsonb.
 *
 * Views borrow the text. No function of this file looks at anything outside of its view.
 */
#ifndef PGFLOW_BASE_JSON_VIEW_H
#define PGFLOW_BASE_JSON_VIEW_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct json_view {
    const char *text; /* its first byte tells the kind: { [ " t f n - or a digit */
    size_t size;
};

/* What is left of an array or object. */
struct json_walk {
    const char *at, *end;
};

/* The one value of a text. ERROR_USAGE: it is not JSON. */
bool json_view_open(struct json_view *view, const char *text, size_t size,
                    struct error *error) MUST_CHECK;

/* The start of an array or object. */
struct json_walk json_view_walk(struct json_view view);
/* The next one; false: there is none. */
bool json_walk_element(struct json_walk *walk, struct json_view *value);
bool json_walk_member(struct json_walk *walk, struct json_view *key, struct json_view *value);

/* The last member of that name, as jsonb has it. `name` in ASCII without escapes. False: the view
 * is no object, or has none. */
bool json_view_member(struct json_view object, const char *name, struct json_view *value);

/* What a string says, escapes resolved; look at buf_ok(). */
void json_view_put_string(struct buf *out, struct json_view string);

/*
 * Appends a text that is the same for two values exactly when jsonb holds them for equal: numbers
 * by their value (1.0 is 1, 1e2 is 100, without a limit of digits), objects whatever the order of
 * their keys, the last of several members of one name. The text itself means nothing. Look at
 * buf_ok().
 */
void json_view_put_canonical(struct buf *out, struct json_view value);

#endif
