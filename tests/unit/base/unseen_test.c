#include "base/unseen.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

/* A right-to-left override, a zero-width space, a soft hyphen, a line separator, a tag. */
#define TRICKS                                                                                     \
    "a\xe2\x80\xae"                                                                                \
    "b\xe2\x80\x8b"                                                                                \
    "c\xc2\xad"                                                                                    \
    "d\xe2\x80\xa8"                                                                                \
    "e\xf3\xa0\x80\x81"                                                                            \
    "f"

Test(unseen, knows_controls_separators_and_format_characters)
{
    static const uint32_t unseen[] = {0,      0x1f,   0x7f,   0x85,    0x9f,   0xad,
                                      0x61c,  0x200b, 0x200f, 0x2028,  0x202e, 0x2066,
                                      0x2069, 0xfeff, 0xfffb, 0xe0001, 0xe007f};
    static const uint32_t seen[] = {' ', '~', 0xa0, 0xe9, 0x2010, 0x2027, 0x202f, 0x4e2d, 0x1f600};

    for (size_t i = 0; i < sizeof unseen / sizeof unseen[0]; i++)
        cr_expect(unseen_is(unseen[i]), "U+%04X", unseen[i]);
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++)
        cr_expect(not(unseen_is(seen[i])), "U+%04X", seen[i]);
}

Test(unseen, is_replaced_in_plain_text)
{
    char text[] = TRICKS;
    char broken[] = "\xe2\x80";

    cr_assert(eq(sz, unseen_replace(text, strlen(text)), strlen("a?b?c?d?e?f")));
    cr_assert(eq(str, text, "a?b?c?d?e?f"));
    cr_assert(eq(sz, unseen_replace(broken, strlen(broken)), 2));
}

Test(unseen, is_an_escape_in_json)
{
    struct buf out;

    buf_init(&out, 1024);
    buf_put_json_string(&out, TRICKS "\n", strlen(TRICKS) + 1);
    cr_assert(eq(str, out.data, "\"a\\u202eb\\u200bc\\u00add\\u2028e\\udb40\\udc01f\\n\""));
    buf_free(&out);
    unseen_put_json(&out, "{\"k\": \"\xe2\x80\xae\",\n \"\xc2\x9b\": 1}",
                    strlen("{'k': '...',\n '..': 1}"));
    cr_assert(eq(str, out.data, "{\"k\": \"\\u202e\",\n \"\\u009b\": 1}"));
    buf_free(&out);
}
