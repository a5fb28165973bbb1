/*
 * Rows as JSON.
 */
#include "ctl/json_output.h"

#include "base/buf.h"
#include "db/sync.h"

#include <string.h>

/* NaN and Infinity are numbers to PostgreSQL only. */
static bool is_json_number(const struct db_rows *rows, size_t column, const char *text)
{
    return db_rows_is_number(rows, column) && text[strspn(text, "-+.0123456789eE")] == '\0';
}

static void put_cell(struct buf *out, const struct db_rows *rows, size_t row, size_t column)
{
    const char *text = db_rows_text(rows, row, column);
    if (!text)
        buf_puts(out, "null");
    else if (db_rows_is_bool(rows, column))
        buf_puts(out, *text == 't' ? "true" : "false");
    else if (db_rows_is_json(rows, column) || is_json_number(rows, column, text))
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
