/*
 * Asking the database, and turning its refusals into exit statuses.
 */
#include "ctl/query.h"

#include "base/text.h"
#include "ctl/json_output.h"
#include "ctl/table.h"
#include "db/sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_one_of(const char *sqlstate, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(sqlstate, list[i]) == 0)
            return true;
    }
    return false;
}

/* What rights are missing, said by the roles that this login has: with the configuration of a
 * host it is a host's. */
static void explain_rights(struct db_sync *db, struct error *error)
{
    static const char sql[] =
        "select session_user, coalesce(pg_has_role(session_user, "
        "to_regrole('pgflow_operator')::oid,"
        " 'usage'), false), coalesce(pg_has_role(session_user, to_regrole('pgflow_worker')::oid,"
        " 'usage'), false), coalesce(pg_has_role(session_user, to_regrole('pgflow_client')::oid,"
        " 'usage'), false)";
    struct error ignored;
    struct db_rows *rows = db_sync_query(db, sql, NULL, 0, &ignored);
    const char *user = rows != NULL ? db_rows_text(rows, 0, 0) : "?";
    bool has[3] = {false, false, false};
    for (size_t i = 0; rows != NULL && i < 3; i++)
        has[i] = strcmp(db_rows_text(rows, 0, i + 1), "t") == 0;
    if (has[0])
        (void)error_set(error, ERROR_CONFIG,
                        "%s; user \"%s\" is an operator: this takes the owner of the schema",
                        error->text, user);
    else if (has[1])
        (void)error_set(error, ERROR_CONFIG,
                        "%s; user \"%s\" is a host's (pgflow_worker), as in the configuration of a "
                        "host; name an operator's login by --database or PGFLOW_DATABASE, one with "
                        "the role pgflow_operator",
                        error->text, user);
    else
        (void)error_set(
            error, ERROR_CONFIG,
            "%s; as the owner of the schema: grant pgflow_operator to \"%s\"%s", error->text, user,
            has[2] ? ", which as pgflow_client starts and follows runs and no more" : "");
    db_rows_destroy(rows);
}

/* What a missing schema and missing rights look like from a query. */
static void explain(struct db_sync *db, struct error *error)
{
    char sqlstate[6];
    (void)snprintf(sqlstate, sizeof sqlstate, "%s", db_sync_sqlstate(db));
    static const char *const not_there[] = {"3F000", "42P01", "42883"};
    static const char *const bad_word[] = {"42704", "22023", "22P02", "22007",
                                           "2201B", "22008", "23514", "23505"};
    if (strcmp(sqlstate, "55000") == 0)
        error->code = ERROR_ANSWER_NO;
    else if (is_one_of(sqlstate, bad_word, sizeof bad_word / sizeof bad_word[0]))
        error->code = ERROR_USAGE;
    else if (is_one_of(sqlstate, not_there, sizeof not_there / sizeof not_there[0]))
        (void)error_set(error, ERROR_CONFIG,
                        "%s; is the schema pgflow installed here? run: pgflowctl migrate",
                        error->text);
    else if (strcmp(sqlstate, "42501") == 0)
        explain_rights(db, error);
}

struct db_rows *query_rows(struct db_sync *db, const char *sql, const char *const *values,
                           size_t count, struct error *error)
{
    struct db_rows *rows = db_sync_query(db, sql, values, count, error);
    if (rows == NULL)
        explain(db, error);
    return rows;
}

static const char *nearest_cell(const struct db_rows *rows, const char *name)
{
    size_t count = db_rows_count(rows);
    const char **names = calloc(count + 1, sizeof *names);
    const char *near = NULL;
    for (size_t i = 0; names != NULL && i < count; i++)
        names[i] = db_rows_text(rows, i, 0);
    if (names != NULL)
        near = text_nearest(name, names, count);
    free((void *)names);
    return near;
}

/* Whether the name is an alias where only a version will do: the nearest name would be itself. */
static bool is_alias(struct db_sync *db, const char *name, struct error *error)
{
    struct error ignored;
    struct db_rows *rows =
        db_sync_query(db, "select active_flow_slug from pgflow.flow_aliases where alias = $1",
                      &name, 1, &ignored);
    bool found = rows != NULL && db_rows_count(rows) == 1;
    if (found)
        (void)error_set(error, ERROR_USAGE,
                        "'%s' is an alias, which points at '%s'; name the version that is meant",
                        text_shown(name), db_rows_text(rows, 0, 0));
    db_rows_destroy(rows);
    return found;
}

bool query_no_flow(struct db_sync *db, const char *name, struct error *error)
{
    struct error ignored;
    if (is_alias(db, name, error))
        return false;
    struct db_rows *rows = db_sync_query(
        db, "select flow_slug from pgflow.flows union select alias from pgflow.flow_aliases", NULL,
        0, &ignored);
    const char *near = rows != NULL ? nearest_cell(rows, name) : NULL;
    if (near != NULL)
        (void)error_set(error, ERROR_USAGE, "there is no flow '%s'; did you mean '%s'?",
                        text_shown(name), near);
    else
        (void)error_set(error, ERROR_USAGE, "there is no flow '%s'; pgflowctl aliases lists all",
                        text_shown(name));
    db_rows_destroy(rows);
    return false;
}

void query_offer_flow(struct db_sync *db, const char *name, struct error *error)
{
    if (strcmp(db_sync_sqlstate(db), "42704") == 0)
        (void)query_no_flow(db, name, error);
}

bool query_require_flow(struct db_sync *db, const char *name, struct error *error)
{
    struct db_rows *rows = query_rows(db,
                                      "select flow_slug from pgflow.flows where flow_slug = $1 or "
                                      "alias = $1 limit 1",
                                      &name, 1, error);
    if (rows == NULL)
        return false;
    bool known = db_rows_count(rows) > 0;
    db_rows_destroy(rows);
    return known || query_no_flow(db, name, error);
}

bool query_require_queue(struct db_sync *db, const char *name, struct error *error)
{
    bool known = false;
    struct db_rows *rows =
        query_rows(db, "select queue_name from pgflow.queues order by 1", NULL, 0, error);
    if (rows == NULL)
        return false;
    for (size_t i = 0; i < db_rows_count(rows); i++)
        known = known || strcasecmp(db_rows_text(rows, i, 0), name) == 0;
    const char *near = known ? NULL : nearest_cell(rows, name);
    if (!known)
        (void)error_set(error, ERROR_USAGE, "there is no queue '%s'; %s%s%s", text_shown(name),
                        near != NULL ? "did you mean '" : "pgflowctl queue lists all",
                        near != NULL ? near : "", near != NULL ? "'?" : "");
    db_rows_destroy(rows);
    return known;
}

bool query_print(struct db_sync *db, bool json, const struct query_print *print,
                 const char *const *values, size_t count, struct error *error)
{
    const char *sql = json && print->json_sql != NULL ? print->json_sql : print->sql;
    struct db_rows *rows = query_rows(db, sql, values, count, error);
    if (rows == NULL)
        return false;
    if (json)
        json_print_rows(stdout, rows);
    else if (db_rows_count(rows) == 0)
        printf("%s\n", print->nothing);
    else
        table_print_rows(rows, print->flexible);
    db_rows_destroy(rows);
    return true;
}
