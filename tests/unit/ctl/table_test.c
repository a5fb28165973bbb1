#include "ctl/table.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const cells[2][3] = {
    {"audit", "a rather long text that gives way", "7"},
    {"caf\xc3\xa9", "line\nbreak \x1b[31m", "1000"},
};

static const char *name_of(const void *ctx, size_t column)
{
    static const char *const names[] = {"flow", "error", "tasks"};
    (void)ctx;
    return names[column];
}

static const char *cell_of(const void *ctx, size_t row, size_t column)
{
    (void)ctx;
    return cells[row][column];
}

static bool is_number(const void *ctx, size_t column)
{
    (void)ctx;
    return column == 2;
}

/* Two columns a character. */
#define SHOP "\xe5\xba\x97\xe5\xba\x97"
#define KANJI "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2"
#define KANJI_LAST "\xe5\xad\x97\xe6\xbc\xa2"

static const char *wide_cell_of(const void *ctx, size_t row, size_t column)
{
    static const char *const wide[2][3] = {
        {SHOP, KANJI KANJI_LAST, "1"},
        {"cafe\xcc\x81", "\xf0\x9f\x9a\x80 \xc2\x9bm\xff", "2"},
    };
    (void)ctx;
    return wide[row][column];
}

static char *print_cells(const char *(*cells_of)(const void *, size_t, size_t), size_t width)
{
    struct table table = {
        .columns = 3, .rows = 2, .name = name_of, .cell = cells_of, .is_number = is_number};
    char *text = NULL;
    size_t size = 0;
    (void)setenv("NO_COLOR", "1", 1);
    FILE *out = open_memstream(&text, &size);
    table_print(out, &table, 1, width);
    (void)fclose(out);
    return text;
}

static char *print(size_t width)
{
    return print_cells(cell_of, width);
}

/* Kanji and the rocket take two columns, the accent of its own none; the C1 control and the
 * byte that is no UTF-8 are shown as something harmless. */
Test(table, counts_columns_as_the_terminal_does)
{
    char *text = print_cells(wide_cell_of, 25);

    cr_assert(eq(str, text,
                 "flow  error       tasks\n" SHOP "  " KANJI KANJI_LAST "      1\n"
                 "cafe\xcc\x81  \xf0\x9f\x9a\x80  m?          2\n"));
    free(text);
}

Test(table, cuts_no_wide_character_in_two)
{
    char *text = print_cells(wide_cell_of, 21);

    cr_assert(ne(ptr, strstr(text, SHOP "  " KANJI "\xe2\x80\xa6       1\n"), NULL), "%s", text);
    free(text);
}

Test(table, aligns_columns_and_defuses_controls)
{
    char *text = print(0);

    cr_assert(eq(str, text,
                 "flow   error                              tasks\n"
                 "audit  a rather long text that gives way      7\n"
                 "caf\xc3\xa9   line break  [31m                    1000\n"));
    free(text);
}

Test(table, the_flexible_column_gives_way_to_a_narrow_terminal)
{
    char *text = print(30);

    cr_assert(eq(str, text,
                 "flow   error             tasks\n"
                 "audit  a rather long t\xe2\x80\xa6      7\n"
                 "caf\xc3\xa9   line break  [31m   1000\n"));
    free(text);
}

Test(table, a_terminal_too_narrow_for_the_columns_gets_a_line_a_cell)
{
    char *text = print(20);

    cr_assert(eq(str, text,
                 "flow   audit\n"
                 "error  a rather long\n"
                 "       text that giv\n"
                 "       es way\n"
                 "tasks  7\n"
                 "\n"
                 "flow   caf\xc3\xa9\n"
                 "error  line break  [\n"
                 "       31m\n"
                 "tasks  1000\n"));
    free(text);
}

Test(table, no_cell_vanishes_however_narrow_the_terminal)
{
    char *text = print(1);

    cr_assert(ne(ptr, strstr(text, "a rather\n       long tex\n"), NULL), "%s", text);
    free(text);
}
