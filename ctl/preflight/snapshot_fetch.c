/*
 * A snapshot as it comes from the database, and its digest: SHA-256 of the canonical form of all
 * members but the digest, so that a file that was laid out anew is still the same.
 */
#include "ctl/preflight/snapshot.h"

#include "db/sync.h"
#include "module/digest.h"

#include <stdio.h>
#include <string.h>

static bool is_digest(struct json_view key)
{
    return key.size == 8 && memcmp(key.text, "\"digest\"", 8) == 0;
}

bool snapshot_digest(struct json_view snapshot, char digest[SNAPSHOT_DIGEST], struct error *error)
{
    struct json_walk walk = json_view_walk(snapshot);
    struct json_view key, value, whole;
    struct buf text, canonical;
    char hex[DIGEST_HEX + 1];

    buf_init(&text, SNAPSHOT_MAX);
    buf_init(&canonical, SNAPSHOT_MAX);
    buf_putc(&text, '{');
    while (json_walk_member(&walk, &key, &value)) {
        if (is_digest(key))
            continue;
        buf_puts(&text, text.size > 1 ? "," : "");
        buf_put(&text, key.text, key.size);
        buf_putc(&text, ':');
        buf_put(&text, value.text, value.size);
    }
    buf_putc(&text, '}');
    bool ok = buf_ok(&text) || error_out_of_memory(error);
    ok = ok && json_view_open(&whole, text.data, text.size, error);
    if (ok)
        json_view_put_canonical(&canonical, whole);
    ok = ok && (buf_ok(&canonical) || error_out_of_memory(error)) &&
         digest_of(canonical.data, canonical.size, hex, error);
    if (ok)
        (void)snprintf(digest, SNAPSHOT_DIGEST, "sha256:%s", hex);
    buf_free(&text);
    buf_free(&canonical);
    return ok;
}

/* Before the question: a schema without the function would be told as a missing one. */
static bool check_schema(struct db_sync *db, struct error *error)
{
    struct error ignored;
    struct db_rows *rows =
        db_sync_query(db,
                      "select n.oid is not null, p.oid is not null from (values (1)) as one (row)"
                      " left join pg_namespace n on n.nspname = 'pgflow'"
                      " left join pg_proc p on p.pronamespace = n.oid"
                      "   and p.proname = 'needs_snapshot'",
                      NULL, 0, &ignored);
    bool has_schema = rows != NULL && strcmp(db_rows_text(rows, 0, 0), "t") == 0;
    bool has_function = rows != NULL && strcmp(db_rows_text(rows, 0, 1), "t") == 0;
    bool was_answered = rows != NULL;
    db_rows_destroy(rows);
    if (was_answered && !has_schema)
        return error_set(error, ERROR_CONFIG,
                         "the schema pgflow is not installed here; run: pgflowctl migrate");
    if (has_schema && !has_function)
        return error_set(error, ERROR_CONFIG,
                         "this database has schema version 1, which cannot say what it needs; "
                         "snapshot and preflight take version 2: pgflowctl migrate, which hosts of "
                         "version 1 bear");
    return true;
}

static void explain_rights(struct db_sync *db, struct error *error)
{
    if (strcmp(db_sync_sqlstate(db), "42501") == 0)
        (void)error_set(error, ERROR_CONFIG,
                        "this login may not take a snapshot; as the owner of the schema: grant "
                        "pgflow_operator to it, or only: grant usage on schema pgflow to LOGIN; "
                        "grant execute on function pgflow.needs_snapshot() to LOGIN");
}

static bool put_document(struct buf *text, const char *document, struct error *error)
{
    char digest[SNAPSHOT_DIGEST];
    struct json_view view;

    if (!json_view_open(&view, document, strlen(document), error) ||
        !snapshot_digest(view, digest, error))
        return false;
    buf_printf(text, "{\"digest\": \"%s\", ", digest);
    buf_puts(text, document + 1);
    buf_putc(text, '\n');
    return buf_ok(text) || error_out_of_memory(error);
}

bool snapshot_fetch(struct db_sync *db, struct buf *text, struct error *error)
{
    if (!check_schema(db, error))
        return false;
    struct db_rows *rows =
        db_sync_query(db, "select pgflow.needs_snapshot()::text", NULL, 0, error);
    if (rows == NULL) {
        explain_rights(db, error);
        return false;
    }
    const char *document = db_rows_text(rows, 0, 0);
    bool ok = document != NULL && document[0] == '{'
                  ? put_document(text, document, error)
                  : error_set(error, ERROR_INTERNAL, "the database gave no snapshot");
    db_rows_destroy(rows);
    return ok;
}
