/* Where a statement of a file of SQL ends. */
#include "db/sql_split.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* The statements, each in angle brackets, with a + before one that repeats. */
static const char *split(const char *sql)
{
    static char all[1024];
    struct sql_piece piece;
    size_t used = 0;
    all[0] = '\0';
    while (sql_split_next(&sql, &piece))
        used += (size_t)snprintf(all + used, sizeof all - used, "%s<%.*s>",
                                 piece.repeats ? "+" : "", (int)piece.size, piece.text);
    return all;
}

static void expect(const char *sql, const char *pieces)
{
    cr_expect_str_eq(split(sql), pieces, "%s\ngave %s", sql, split(sql));
}

Test(sql_split, ends_at_semicolons)
{
    expect("", "");
    expect(" ; ;\n", "");
    expect("select 1", "<select 1>");
    expect("select 1;\nselect 2;\n", "<select 1><select 2>");
}

Test(sql_split, leaves_comments_before_a_statement_out)
{
    expect("-- a; b\nselect 1;", "<select 1>");
    expect("/* a; /* b; */ c; */ select 1;", "<select 1>");
    expect("select 1; -- the end; really", "<select 1>");
}

Test(sql_split, looks_into_no_comment_within_a_statement)
{
    expect("select -- a; 'b\n 1;", "<select -- a; 'b\n 1>");
    expect("select /* a; /* ' */ ; */ 1;select 2", "<select /* a; /* ' */ ; */ 1><select 2>");
}

Test(sql_split, looks_into_no_quoted_text)
{
    expect("select 'a; b', 'it''s;';select 2", "<select 'a; b', 'it''s;'><select 2>");
    expect("select \"a;\"\"b\";select 2", "<select \"a;\"\"b\"><select 2>");
    expect("select E'a\\'; b', e'\\\\';select 2", "<select E'a\\'; b', e'\\\\'><select 2>");
    expect("select 'a\\';select 2", "<select 'a\\'><select 2>");
}

Test(sql_split, looks_into_no_dollar_quoted_text)
{
    expect("do $$ a; $b$; $$;select 2", "<do $$ a; $b$; $$><select 2>");
    expect("do $a$ x; $$ y; $b$ $a$;select 2", "<do $a$ x; $$ y; $b$ $a$><select 2>");
    expect("select $1; select a$b$c;select 2", "<select $1><select a$b$c><select 2>");
}

Test(sql_split, ends_with_the_file_where_something_is_open)
{
    expect("select 'a; b", "<select 'a; b>");
    expect("do $$ a; b", "<do $$ a; b>");
    expect("select 1 /* ; ", "<select 1 /* ; >");
}

Test(sql_split, knows_the_word_for_repetition)
{
    expect("-- repeat\nupdate t;\nselect 1;", "+<update t><select 1>");
    expect("-- repeated\nupdate t;", "<update t>");
    expect("-- First\n-- repeat\n-- in batches.\nupdate t;", "+<update t>");
}
