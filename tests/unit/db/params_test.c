#include "db/params.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

Test(params, scalars_are_text)
{
    struct params params;
    params_init(&params);

    params_text(&params, "x");
    params_text(&params, NULL);
    params_int(&params, -5);
    params_bool(&params, true);

    cr_assert(params_ok(&params));
    cr_assert(eq(str, params.items[0].bytes.data, "x"));
    cr_assert(params.items[1].is_null);
    cr_assert(eq(str, params.items[2].bytes.data, "-5"));
    cr_assert(eq(str, params.items[3].bytes.data, "t"));
    params_free(&params);
}

Test(params, text_arrays_are_binary_and_unescaped)
{
    static const char expected[] = "\0\0\0\1\0\0\0\1\0\0\0\31\0\0\0\3\0\0\0\1"
                                   "\0\0\0\4a\"\\,\xff\xff\xff\xff\0\0\0\0";
    struct params params;
    params_init(&params);

    struct param *array = params_array(&params, PARAMS_TEXT_ARRAY, 3, 4);
    param_put_text(array, "a\"\\,", 4);
    param_put_text(array, NULL, 0);
    param_put_text(array, "", 0);

    cr_assert(params_ok(&params));
    cr_assert(eq(sz, array->bytes.size, sizeof expected - 1));
    cr_assert(eq(int, memcmp(array->bytes.data, expected, sizeof expected - 1), 0));
    params_free(&params);
}

Test(params, an_empty_array_has_no_dimension)
{
    struct params params;
    params_init(&params);

    struct param *array = params_array(&params, PARAMS_INT_ARRAY, 0, 0);

    cr_assert(eq(sz, array->bytes.size, 12));
    cr_assert(eq(int, memcmp(array->bytes.data, "\0\0\0\0", 4), 0));
    params_free(&params);
}

Test(params, more_than_postgres_takes_is_not_ok)
{
    struct params params;
    params_init(&params);

    (void)params_array(&params, PARAMS_TEXT_ARRAY, 1, LIMIT_DB_STATEMENT_BYTES + 1);

    cr_assert(not(params_ok(&params)));
    params_free(&params);
}
