/*
 * Rows as JSON.
 */
#include "ctl/json_output.h"

#include "base/buf.h"
#include "base/unseen.h"
#include "db/sync.h"

#include <string.h>

/* NaN and Infinity are numbers to PostgreSQL only. */
static bool is_json_number(const struct db_rows *rows, size_t column, const char *text)
{
    return db_rows_is_number(rows, column) && text[strspn(text, "-+.0123456789eE")] == '\0';
}

/* PostgreSQL's "2026-12-01 04:17:29.1+00" as ISO 8601 (RFC 3339) has it. What has another form,
 * such as infinity or a year before Christ, stays as it is. */
static void put_time(struct buf *out, const char *text)
{
    size_t size = strlen(text);
    size_t zone = size >= 22 && text[10] == ' ' ? 19 + strcspn(text + 19, "+-") : size;
    const char *offset = text + zone;

    if (zone == size || strspn(offset + 1, "0123456789:") != size - zone - 1) {
        buf_put_json_string(out, text, size);
        return;
    }
    buf_printf(out, "\"%.10sT%.*s", text, (int)(zone - 11), text + 11);
    if (strcmp(offset + 1, "00") == 0)
        buf_puts(out, "Z\"");
    else
        buf_printf(out, "%s%s\"", offset, strlen(offset) == 3 ? ":00" : "");
}

static void put_cell(struct buf *out, const struct db_rows *rows, size_t row, size_t column)
{
    const char *text = db_rows_text(rows, row, column);
    if (text == NULL)
        buf_puts(out, "null");
    else if (db_rows_is_bool(rows, column))
        buf_puts(out, *text == 't' ? "true" : "false");
    else if (db_rows_is_time(rows, column))
        put_time(out, text);
    else if (db_rows_is_json(rows, column))
        unseen_put_json(out, text, strlen(text));
    else if (is_json_number(rows, column, text))
        buf_puts(out, text);
    else
        buf_put_json_string(out, text, strlen(text));
}

void json_print_row(FILE *out, const struct db_rows *rows, size_t row)
{
    struct buf text;
    buf_init(&text, LIMIT_DB_STATEMENT_BYTES);
    buf_putc(&text, '{');
    for (size_t i = 0; i < db_rows_columns(rows); i++) {
        const char *name = db_rows_name(rows, i);
        if (i > 0)
            buf_puts(&text, ", ");
        buf_put_json_string(&text, name, strlen(name));
        buf_puts(&text, ": ");
        put_cell(&text, rows, row, i);
    }
    buf_putc(&text, '}');
    (void)fwrite(text.data, 1, text.size, out);
    buf_free(&text);
}

void json_print_rows(FILE *out, const struct db_rows *rows)
{
    (void)fputc('[', out);
    for (size_t i = 0; i < db_rows_count(rows); i++) {
        (void)fputs(i > 0 ? ",\n " : "", out);
        json_print_row(out, rows, i);
    }
    (void)fputs("]\n", out);
}
