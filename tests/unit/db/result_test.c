#include "db/result.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

static PGresult *result_of(char *value)
{
    static char name[] = "a";
    PGresAttDesc column = {.name = name, .typid = 1009, .typlen = -1, .atttypmod = -1};
    PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    cr_assert(PQsetResultAttrs(result, 1, &column));
    cr_assert(PQsetvalue(result, 0, 0, value, value ? (int)strlen(value) : -1));
    return result;
}

static size_t count_texts(char *value)
{
    struct db_texts texts;
    PGresult *result = result_of(value);
    cr_assert(result_texts(result, 0, 0, &texts));
    size_t count = texts.count;
    result_texts_free(&texts);
    PQclear(result);
    return count;
}

Test(result, array_elements_are_unquoted_and_nulls_left_out)
{
    static char value[] = "{a,\"b \\\"c\\\\\",NULL,\"NULL\",\"\",\"x,y\"}";
    static const char *const expected[] = {"a", "b \"c\\", "NULL", "", "x,y"};
    struct db_texts texts;
    PGresult *result = result_of(value);

    cr_assert(result_texts(result, 0, 0, &texts));

    cr_assert(eq(sz, texts.count, 5));
    for (size_t i = 0; i < 5; i++)
        cr_assert(eq(str, (char *)texts.items[i], (char *)expected[i]));
    result_texts_free(&texts);
    PQclear(result);
}

Test(result, an_array_that_is_none_has_no_elements)
{
    cr_assert(eq(sz, count_texts(NULL), 0));
    cr_assert(eq(sz, count_texts((char[]){"{}"}), 0));
    cr_assert(eq(sz, count_texts((char[]){"words"}), 0));
}

/* More elements than commas had written behind the list; found by a fuzzer. */
Test(result, elements_without_commas_end_the_array)
{
    cr_assert(eq(sz, count_texts((char[]){"{\"\"\"\"\"\"\"\"\"\"\"\"}"}), 1));
    cr_assert(eq(sz, count_texts((char[]){"{a,\"b\"\"c\",d}"}), 2));
    cr_assert(eq(sz, count_texts((char[]){"{a,"}), 1));
}
