#include "base/error.h"
#include "base/secrets.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

static const char *hidden(const char *text)
{
    static char copy[512];

    strcpy(copy, text);
    secrets_hide(copy);
    return copy;
}

Test(secrets, of_urls_are_hidden)
{
    cr_assert(eq(str, (char *)hidden("cannot open 'postgres://u:pw@h/d': none"),
                 "cannot open 'postgres://***': none"));
    cr_assert(eq(str, (char *)hidden("postgres://u:pw@h/d: none"), "postgres://***: none"));
    cr_assert(eq(str, (char *)hidden("x: https://me:pw@h/p is not a file"),
                 "x: https://*** is not a file"));
    cr_assert(eq(str, (char *)hidden("'postgres://u:p w'x@h/d': none"), "'postgres://***': none"));
    cr_assert(eq(str, (char *)hidden("postgresql://h/d?password=pw"), "postgresql://***"));
    cr_assert(eq(str, (char *)hidden("--postgres://u:pw@h/d; --help"), "--postgres://***; --help"));
    cr_assert(
        eq(ptr, strstr(hidden("postgres://u:first@h postgres://u:second@h"), "second"), NULL));
}

Test(secrets, of_connection_strings_are_hidden)
{
    cr_assert(eq(str, (char *)hidden("'host=h password=pw user=u' is no file"),
                 "'host=h password=** user=u' is no file"));
    cr_assert(eq(ptr, strstr(hidden("password='a b\\' c' x"), "a b"), NULL));
    cr_assert(eq(ptr, strstr(hidden("password='a b\\' c' x"), " c"), NULL));
}

Test(secrets, are_not_seen_where_there_are_none)
{
    static const char *const harmless[] = {
        "write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with @ as %40",
        "see https://example.org/a b", "someone@example.org", "password", ""};

    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        cr_expect(eq(str, (char *)hidden(harmless[i]), (char *)harmless[i]));
    cr_assert(not(secrets_look("/usr/lib/flow.so")));
    cr_assert(secrets_look("postgres:///app"));
    cr_assert(secrets_look("host=h password=x"));
}

Test(secrets, are_in_no_error)
{
    struct error error;

    (void)!error_set(&error, ERROR_CONFIG, "%s: cannot be opened", "postgres://u:s3cret@h/d");
    cr_assert(eq(ptr, strstr(error.text, "s3cret"), NULL));
    (void)!error_wrap(&error, "--config %s", "postgres://u:s3cret@h/d");
    cr_assert(eq(ptr, strstr(error.text, "s3cret"), NULL));
}
