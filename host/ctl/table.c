/*
 * Tables for people. Widths are counted in code points, which serves names,
 * numbers and times.
 */
#include "ctl/table.h"

#include "base/text.h"
#include "db/sync.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MOST_COLUMNS = 32, LEAST_WIDTH = 8, GAP = 2 };

struct layout {
    size_t widths[MOST_COLUMNS];
    size_t columns;
    bool colour;
};

static size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static const char *cell(const struct table *table, size_t row, size_t column)
{
    const char *text = table->cell(table->ctx, row, column);
    return text ? text : "";
}

static void measure(struct layout *layout, const struct table *table)
{
    layout->columns = table->columns;
    if (layout->columns > MOST_COLUMNS)
        layout->columns = MOST_COLUMNS;
    for (size_t c = 0; c < layout->columns; c++) {
        layout->widths[c] = characters(table->name(table->ctx, c));
        for (size_t r = 0; r < table->rows; r++) {
            size_t width = characters(cell(table, r, c));
            if (width > layout->widths[c])
                layout->widths[c] = width;
        }
    }
}

static void squeeze(struct layout *layout, size_t flexible, size_t width)
{
    size_t total = 0;
    for (size_t c = 0; c < layout->columns; c++)
        total += layout->widths[c] + (c > 0 ? GAP : 0);
    if (width == 0 || total <= width || flexible >= layout->columns)
        return;
    size_t excess = total - width;
    size_t *give = &layout->widths[flexible];
    *give = *give > excess + LEAST_WIDTH ? *give - excess
            : *give < LEAST_WIDTH        ? *give
                                         : LEAST_WIDTH;
}

/* A cell on one line: control characters, which could also be terminal
 * sequences, become blanks. */
static void print_cell(FILE *out, const char *text, size_t width, bool right, bool last)
{
    size_t length = characters(text);
    bool cut = length > width;
    size_t shown = cut ? width - 1 : length;
    if (right)
        (void)fprintf(out, "%*s", (int)(width - shown - cut), "");
    for (const char *c = text; *c && shown > 0; shown--) {
        size_t size = text_utf8_sequence(c, strlen(c));
        size = size ? size : 1;
        bool control = (unsigned char)*c < ' ' || *c == 0x7f ||
                       (size == 2 && (unsigned char)*c == 0xc2 && (unsigned char)c[1] < 0xa0);
        if (control)
            (void)fputc(' ', out);
        else
            (void)fwrite(c, 1, size, out);
        c += size;
    }
    if (cut)
        (void)fputs("\xe2\x80\xa6", out);
    if (!right && !last)
        (void)fprintf(out, "%*s", (int)(width - (cut ? width : length)), "");
}

static void print_line(FILE *out, const struct layout *layout, const struct table *table,
                       size_t row, bool head)
{
    if (head && layout->colour)
        (void)fputs("\x1b[1m", out);
    for (size_t c = 0; c < layout->columns; c++) {
        if (c > 0)
            (void)fprintf(out, "%*s", GAP, "");
        print_cell(out, head ? table->name(table->ctx, c) : cell(table, row, c), layout->widths[c],
                   table->is_number(table->ctx, c), c + 1 == layout->columns);
    }
    (void)fputs(head && layout->colour ? "\x1b[0m\n" : "\n", out);
}

void table_print(FILE *out, const struct table *table, size_t flexible, size_t width)
{
    struct layout layout = {.colour = width > 0 && !getenv("NO_COLOR")};
    measure(&layout, table);
    squeeze(&layout, flexible, width);
    print_line(out, &layout, table, 0, true);
    for (size_t r = 0; r < table->rows; r++)
        print_line(out, &layout, table, r, false);
}

size_t table_width(void)
{
    struct winsize size = {0};
    if (!isatty(STDOUT_FILENO))
        return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

static const char *rows_name(const void *ctx, size_t column)
{
    return db_rows_name(ctx, column);
}

static const char *rows_cell(const void *ctx, size_t row, size_t column)
{
    return db_rows_text(ctx, row, column);
}

static bool rows_is_number(const void *ctx, size_t column)
{
    return db_rows_is_number(ctx, column);
}

void table_print_rows(const struct db_rows *rows, size_t flexible)
{
    struct table table = {.ctx = rows,
                          .columns = db_rows_columns(rows),
                          .rows = db_rows_count(rows),
                          .name = rows_name,
                          .cell = rows_cell,
                          .is_number = rows_is_number};
    table_print(stdout, &table, flexible, table_width());
}
