#include "base/text.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

Test(text, knows_slugs)
{
    char longest[LIMIT_SLUG + 2];
    memset(longest, 'a', LIMIT_SLUG);
    longest[LIMIT_SLUG] = '\0';

    cr_assert(text_is_slug("fetch_2"));
    cr_assert(text_is_slug("_x"));
    cr_assert(text_is_slug(longest));
    cr_assert(not(text_is_slug("")));
    cr_assert(not(text_is_slug("2fetch")));
    cr_assert(not(text_is_slug("run")));
    cr_assert(not(text_is_slug("a-b")));
    cr_assert(not(text_is_slug("\xc3\xa9")));
    longest[LIMIT_SLUG] = 'a';
    longest[LIMIT_SLUG + 1] = '\0';
    cr_assert(not(text_is_slug(longest)));
}

Test(text, deployment_slugs_leave_double_underscores_to_private_queues)
{
    cr_assert(text_is_deployment_slug("audit_v1"));
    cr_assert(not(text_is_deployment_slug("a__b")));
    cr_assert(not(text_is_deployment_slug("_a")));
    cr_assert(not(text_is_deployment_slug("a_")));
}

Test(text, made_uuids_are_uuids_and_differ)
{
    char first[LIMIT_UUID_TEXT + 1];
    char second[LIMIT_UUID_TEXT + 1];

    cr_assert(text_make_uuid(first));
    cr_assert(text_make_uuid(second));

    cr_assert(text_is_uuid(first));
    cr_assert(eq(chr, first[14], '4'));
    cr_assert(ne(str, first, second));
}

Test(text, refuses_what_only_looks_like_a_uuid)
{
    cr_assert(text_is_uuid("01234567-89AB-cdef-0123-456789abcdef"));
    cr_assert(not(text_is_uuid("01234567-89ab-cdef-0123-456789abcde")));
    cr_assert(not(text_is_uuid("01234567-89ab-cdef-0123-456789abcdeg")));
    cr_assert(not(text_is_uuid("01234567089ab-cdef-0123-456789abcdef")));
}

Test(text, finds_broken_utf8)
{
    cr_assert(text_is_utf8("z\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10));
    cr_assert(not(text_is_utf8("\xc0\x80", 2)), "overlong");
    cr_assert(not(text_is_utf8("\xe0\x9f\xbf", 3)), "overlong");
    cr_assert(not(text_is_utf8("\xed\xa0\x80", 3)), "surrogate");
    cr_assert(not(text_is_utf8("\xf4\x90\x80\x80", 4)), "beyond U+10FFFF");
    cr_assert(not(text_is_utf8("\xe2\x82", 2)), "cut off");
    cr_assert(not(text_is_utf8("\x80", 1)), "continuation alone");
}

Test(text, clean_replaces_what_postgres_refuses)
{
    char out[64];

    size_t size = text_clean(out, sizeof out, "a\0b\xff\xe2\x82z", 7);

    cr_assert(eq(str, out,
                 "a\xef\xbf\xbd"
                 "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz"));
    cr_assert(eq(sz, size, strlen(out)));
}

Test(text, clean_cuts_between_characters)
{
    char out[5];

    size_t size = text_clean(out, sizeof out, "ab\xe2\x82\xac", 5);

    cr_assert(eq(sz, size, 2));
    cr_assert(eq(str, out, "ab"));
}

Test(text, prefix_never_cuts_a_character)
{
    const char *text = "a\xf0\x9f\x98\x80z";

    cr_assert(eq(sz, text_utf8_prefix(text, 6, 6), 6));
    cr_assert(eq(sz, text_utf8_prefix(text, 6, 5), 5));
    cr_assert(eq(sz, text_utf8_prefix(text, 6, 4), 1));
    cr_assert(eq(sz, text_utf8_prefix(text, 6, 2), 1));
}

Test(text, a_database_url_is_never_shown)
{
    cr_assert(eq(str, (char *)text_shown("./flow.so"), "./flow.so"));
    cr_assert(eq(ptr, strstr(text_shown("postgres://u:s3cret@h/d"), "s3cret"), NULL));
    cr_assert(eq(ptr, strstr(text_shown("host=h password=s3cret"), "s3cret"), NULL));
}

Test(text, offers_the_nearest_name)
{
    static const char *const names[] = {"migrate", "inspect", "start", "runs", "run"};

    cr_assert(eq(str, (char *)text_nearest("migrat", names, 5), "migrate"));
    cr_assert(eq(str, (char *)text_nearest("satrt", names, 5), "start"));
    cr_assert(eq(str, (char *)text_nearest("RUNS", names, 5), "runs"));
    cr_assert(eq(ptr, (void *)text_nearest("deploy", names, 5), NULL));
    cr_assert(eq(ptr, (void *)text_nearest("", names, 5), NULL));
}

Test(text, lower_reports_what_does_not_fit)
{
    char out[4];

    cr_assert(text_lower(out, sizeof out, "AbC"));
    cr_assert(eq(str, out, "abc"));
    cr_assert(not(text_lower(out, sizeof out, "ABCD")));
}
