/*
 * Finding runs; see run_filter.h.
 */
#include "ctl/runs/run_filter.h"

#include "ctl/command.h"
#include "ctl/query.h"

#include "base/text.h"
#include "db/sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const statuses[] = {"started", "completed", "failed", "cancelled"};
enum { STATUSES = sizeof statuses / sizeof statuses[0] };
/* Options that go into the filter as they are. */
static const char *const texts[] = {"flow", "step", "error", "since", "until", "build", "host"};
enum { TEXTS = sizeof texts / sizeof texts[0], STATUS_TEXT = 16 };

static bool check_status(const char *status, struct error *error)
{
    for (size_t i = 0; i < STATUSES; i++) {
        if (strcmp(status, statuses[i]) == 0)
            return true;
    }
    const char *near = text_nearest(status, statuses, STATUSES);
    return error_set(
        error, ERROR_USAGE, "--status '%s': give started, completed, failed or cancelled%s%s",
        text_shown(status), near != NULL ? "; did you mean " : "", near != NULL ? near : "");
}

static const char *asked_statuses(const struct invocation *invocation)
{
    bool failed = invocation_value(invocation, "failed") != NULL;
    return failed ? "failed" : invocation_value(invocation, "status");
}

/* "failed,cancelled" as a JSON array. */
static bool put_statuses(struct buf *filter, const char *list, struct error *error)
{
    buf_puts(filter, "\"status\": [");
    for (const char *at = list;; at++) {
        char status[STATUS_TEXT];
        size_t size = strcspn(at, ",");
        (void)snprintf(status, sizeof status, "%.*s", (int)size, at);
        if (!check_status(size < sizeof status ? status : list, error))
            return false;
        buf_put_json_string(filter, status, strlen(status));
        at += size;
        if (*at == '\0')
            break;
        buf_puts(filter, ", ");
    }
    buf_putc(filter, ']');
    return true;
}

bool run_filter_read(const struct invocation *invocation, const char *otherwise,
                     const char *members, struct buf *filter, struct error *error)
{
    const char *list = asked_statuses(invocation);
    if (invocation_value(invocation, "failed") != NULL &&
        invocation_value(invocation, "status") != NULL)
        return error_set(error, ERROR_USAGE, "--failed is --status failed; give one of the two");

    list = list != NULL ? list : otherwise;
    buf_putc(filter, '{');
    if (list != NULL && !put_statuses(filter, list, error))
        return false;
    for (size_t i = 0; i < TEXTS; i++) {
        const char *value = invocation_value(invocation, texts[i]);
        if (value == NULL)
            continue;
        buf_printf(filter, "%s\"%s\": ", filter->size > 1 ? ", " : "", texts[i]);
        buf_put_json_string(filter, value, strlen(value));
    }
    buf_puts(filter, filter->size == 1 && *members == ',' ? members + 1 : members);
    buf_putc(filter, '}');
    return buf_ok(filter) || error_out_of_memory(error);
}

bool run_filter_put_moment(const struct invocation *invocation, struct buf *members,
                           struct error *error)
{
    if (invocation_value(invocation, "until") != NULL)
        return true;
    struct db_rows *rows =
        query_rows(invocation->db, "select clock_timestamp()::text", NULL, 0, error);
    if (rows == NULL)
        return false;
    buf_printf(members, ", \"until\": \"%s\"", db_rows_text(rows, 0, 0));
    db_rows_destroy(rows);
    return true;
}

bool run_filter_is_given(const struct invocation *invocation)
{
    bool given = asked_statuses(invocation) != NULL;
    for (size_t i = 0; i < TEXTS; i++)
        given = given || invocation_value(invocation, texts[i]) != NULL;
    return given;
}

bool run_filter_is_by_end(const struct invocation *invocation)
{
    const char *list = asked_statuses(invocation);
    return list != NULL && strstr(list, "started") == NULL && strstr(list, "completed") == NULL;
}

bool run_filter_count(const struct invocation *invocation, const char *filter, int64_t *count,
                      struct error *error)
{
    struct db_rows *rows = query_rows(
        invocation->db, "select coalesce(sum(runs), 0) from pgflow.group_runs($1::jsonb)", &filter,
        1, error);
    if (rows == NULL)
        return false;
    *count = strtoll(db_rows_text(rows, 0, 0), NULL, 10);
    db_rows_destroy(rows);
    return true;
}

enum { RUN, AT, UUID_TEXT = 40, TIME_TEXT = 40 };

bool run_walk(const struct invocation *invocation, const struct run_walk *walk, struct error *error)
{
    char run[UUID_TEXT] = "";
    char at[TIME_TEXT] = "";
    char size[16];
    const char *values[4 + RUN_WALK_VALUES] = {walk->filter, NULL, NULL, size};
    for (size_t i = 0; i < walk->count; i++)
        values[4 + i] = walk->values[i];

    for (int64_t left = walk->most; left > 0;) {
        int asked = left < walk->page ? (int)left : walk->page;
        (void)snprintf(size, sizeof size, "%d", asked);
        struct db_rows *rows =
            query_rows(invocation->db, walk->sql, values, 4 + walk->count, error);
        if (rows == NULL)
            return false;
        size_t found = db_rows_count(rows);
        if (found > 0) {
            (void)snprintf(run, sizeof run, "%s", db_rows_text(rows, found - 1, RUN));
            (void)snprintf(at, sizeof at, "%s", db_rows_text(rows, found - 1, AT));
            values[1] = at;
            values[2] = run;
        }
        if (!walk->take(walk->ctx, rows, error))
            return false;
        if (found < (size_t)asked)
            break;
        left -= (int64_t)found;
    }
    return true;
}
