#include "base/error.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

Test(error, set_fills_code_and_text_and_is_false)
{
    struct error error;

    bool result = error_set(&error, ERROR_CONFIG, "cannot open '%s'", "flow.so");

    cr_assert(not(result));
    cr_assert(eq(int, error.code, ERROR_CONFIG));
    cr_assert(eq(str, error.text, "cannot open 'flow.so'"));
}

Test(error, set_may_quote_its_own_text)
{
    struct error error;
    (void)error_set(&error, ERROR_USAGE, "inner");

    (void)error_set(&error, ERROR_CONFIG, "outer says %s", error.text);

    cr_assert(eq(str, error.text, "outer says inner"));
}

Test(error, wrap_puts_context_before_and_keeps_the_code)
{
    struct error error;
    (void)error_set(&error, ERROR_CONFIG, "wrong magic");

    bool result = error_wrap(&error, "--plugin %s", "a.so");

    cr_assert(not(result));
    cr_assert(eq(int, error.code, ERROR_CONFIG));
    cr_assert(eq(str, error.text, "--plugin a.so: wrong magic"));
}

Test(error, too_long_text_is_cut_between_characters)
{
    struct error error;
    char text[LIMIT_ERROR_TEXT + 100];
    memset(text, 'x', sizeof text);
    memcpy(text + LIMIT_ERROR_TEXT - 2, "\xe2\x82\xac", 3);
    text[sizeof text - 1] = '\0';

    (void)error_set(&error, ERROR_INTERNAL, "%s", text);

    cr_assert(eq(sz, strlen(error.text), LIMIT_ERROR_TEXT - 2));
}

Test(error, takes_no_error_to_fill)
{
    cr_assert(not(error_set(NULL, ERROR_USAGE, "nobody listens")));
    cr_assert(not(error_wrap(NULL, "nor here")));
}
