/*
 * Tables for people: as wide as the terminal, and whole where there is none.
 */
#include "ctl/table.h"

#include "ctl/plain.h"

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

static const char *cell(const struct table *table, size_t row, size_t column)
{
    const char *text = table->cell(table->ctx, row, column);
    return text != NULL ? text : "";
}

static void measure(struct layout *layout, const struct table *table)
{
    layout->columns = table->columns;
    if (layout->columns > MOST_COLUMNS)
        layout->columns = MOST_COLUMNS;
    for (size_t c = 0; c < layout->columns; c++) {
        layout->widths[c] = plain_columns(table->name(table->ctx, c));
        for (size_t r = 0; r < table->rows; r++) {
            size_t width = plain_columns(cell(table, r, c));
            if (width > layout->widths[c])
                layout->widths[c] = width;
        }
    }
}

/* False when it does not fit, however narrow the flexible column. */
static bool squeeze(struct layout *layout, size_t flexible, size_t width)
{
    size_t total = 0;
    for (size_t c = 0; c < layout->columns; c++)
        total += layout->widths[c] + (c > 0 ? GAP : 0);
    if (width == 0 || total <= width)
        return true;
    size_t excess = total - width;
    if (flexible >= layout->columns || layout->widths[flexible] < excess + LEAST_WIDTH)
        return false;
    layout->widths[flexible] -= excess;
    return true;
}

static void print_blanks(FILE *out, size_t count)
{
    (void)fprintf(out, "%*s", (int)count, "");
}

static void print_cell(FILE *out, const char *text, size_t width, bool right, bool last)
{
    size_t length = plain_columns(text);
    bool cut = length > width;
    size_t left = cut ? width - 1 : width;
    if (right && !cut)
        print_blanks(out, width - length);
    (void)plain_print_line(out, text, &left);
    if (cut)
        (void)fputs("\xe2\x80\xa6", out);
    if (!last && !(right && !cut))
        print_blanks(out, left);
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

/* "name  value", folded at the width of the terminal. */
static void print_folded(FILE *out, const struct layout *layout, const char *name,
                         const char *value, size_t indent, size_t width)
{
    size_t room = width > indent + GAP + LEAST_WIDTH ? width - indent - GAP : LEAST_WIDTH;
    (void)fprintf(out, "%s%s%s%*s", layout->colour ? "\x1b[1m" : "", name,
                  layout->colour ? "\x1b[0m" : "", (int)(indent + GAP - plain_columns(name)), "");
    for (;;) {
        size_t left = room;
        value = plain_print_line(out, value, &left);
        value += *value == ' ';
        if (!*value)
            break;
        (void)fputc('\n', out);
        print_blanks(out, indent + GAP);
    }
    (void)fputc('\n', out);
}

/* One row below the other: what a terminal too narrow for the table is given. */
static void print_records(FILE *out, const struct layout *layout, const struct table *table,
                          size_t width)
{
    size_t indent = 0;
    for (size_t c = 0; c < layout->columns; c++) {
        size_t length = plain_columns(table->name(table->ctx, c));
        indent = length > indent ? length : indent;
    }
    for (size_t r = 0; r < table->rows; r++) {
        if (r > 0)
            (void)fputc('\n', out);
        for (size_t c = 0; c < layout->columns; c++)
            print_folded(out, layout, table->name(table->ctx, c), cell(table, r, c), indent, width);
    }
}

/* https://no-color.org: set and not empty. */
bool table_colour(void)
{
    const char *no = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return (no == NULL || *no == '\0') && (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

void table_print(FILE *out, const struct table *table, size_t flexible, size_t width)
{
    struct layout layout = {.colour = width > 0 && table_colour()};
    measure(&layout, table);
    if (!squeeze(&layout, flexible, width)) {
        print_records(out, &layout, table, width);
        return;
    }
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
