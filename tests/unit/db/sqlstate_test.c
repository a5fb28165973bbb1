#include "db/sqlstate.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

Test(sqlstate, only_passing_trouble_is_not_permanent)
{
    static const char *const passing[] = {"08006", "25006", "40001", "40P01", "53300",
                                          "55P03", "57P01", "57014", "58030"};
    static const char *const permanent[] = {"42883", "42P01", "22023", "25P02", "28P01",
                                            "3D000", "23505", "XX000", "0A000"};

    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++)
        cr_expect(not(sqlstate_is_permanent(passing[i])), "%s", passing[i]);
    for (size_t i = 0; i < sizeof permanent / sizeof permanent[0]; i++)
        cr_expect(sqlstate_is_permanent(permanent[i]), "%s", permanent[i]);
}

Test(sqlstate, is_found_in_the_text_of_a_refused_connection)
{
    char sqlstate[6] = "";
    static const char text[] =
        "connection to server at \"db\" (10.0.0.1), port 5432 failed: FATAL:  28P01: password "
        "authentication failed for user \"x\"\nLOCATION:  auth_failed, auth.c:335\n";

    cr_assert(sqlstate_find(text, sqlstate));

    cr_assert(eq(str, sqlstate, "28P01"));
    cr_assert(sqlstate_refuses_for_good(sqlstate));
}

Test(sqlstate, the_last_server_of_several_decides)
{
    char sqlstate[6] = "";

    cr_assert(sqlstate_find("a: FATAL:  28P01: no\nb: FATAL:  57P03: starting up\n", sqlstate));

    cr_assert(eq(str, sqlstate, "57P03"));
    cr_assert(not(sqlstate_refuses_for_good(sqlstate)));
}

Test(sqlstate, no_server_no_sqlstate)
{
    char sqlstate[6] = "";

    cr_assert(not(sqlstate_find("failed: Connection refused\n\tIs the server running?", sqlstate)));
}

Test(sqlstate, description_is_one_line_for_people)
{
    char text[256];

    sqlstate_describe(text, sizeof text,
                      "to \"db\" failed: FATAL:  28P01: password authentication failed\n"
                      "LOCATION:  auth_failed, auth.c:335\n\tsecond line\n");

    cr_assert(eq(str, text, "to \"db\" failed: password authentication failed; second line"));
}

Test(sqlstate, description_fits_its_room)
{
    char text[24];

    sqlstate_describe(text, sizeof text, "a long line that does not fit\nanother\nanother\n");

    cr_assert(lt(sz, strlen(text), sizeof text));
}
