#include "base/buf.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

Test(buf, is_an_empty_string_before_the_first_put)
{
    struct buf buf;

    buf_init(&buf, 10);

    cr_assert(eq(str, buf.data, ""));
    cr_assert(buf_ok(&buf));
    buf_free(&buf);
}

Test(buf, keeps_a_nul_behind_the_bytes_as_it_grows)
{
    struct buf buf;
    buf_init(&buf, 100000);

    for (int i = 0; i < 10000; i++)
        buf_puts(&buf, "abc");

    cr_assert(eq(sz, buf.size, 30000));
    cr_assert(eq(sz, strlen(buf.data), 30000));
    buf_free(&buf);
}

Test(buf, takes_exactly_its_maximum)
{
    struct buf buf;
    buf_init(&buf, 4);

    buf_puts(&buf, "abcd");

    cr_assert(buf_ok(&buf));
    cr_assert(eq(str, buf.data, "abcd"));
    buf_free(&buf);
}

Test(buf, stays_failed_after_one_put_too_many)
{
    struct buf buf;
    buf_init(&buf, 4);
    buf_puts(&buf, "abc");

    buf_puts(&buf, "de");
    buf_puts(&buf, "x");

    cr_assert(not(buf_ok(&buf)));
    cr_assert(eq(str, buf.data, "abc"));
    cr_assert(eq(ptr, buf_detach(&buf, NULL), NULL));
}

Test(buf, clear_ends_the_failure)
{
    struct buf buf;
    buf_init(&buf, 4);
    buf_puts(&buf, "too long");

    buf_clear(&buf);
    buf_puts(&buf, "ok");

    cr_assert(buf_ok(&buf));
    cr_assert(eq(str, buf.data, "ok"));
    buf_free(&buf);
}

Test(buf, consume_drops_the_front)
{
    struct buf buf;
    buf_init(&buf, 100);
    buf_puts(&buf, "head body");

    buf_consume(&buf, 5);

    cr_assert(eq(str, buf.data, "body"));
    cr_assert(eq(sz, buf.size, 4));
    buf_free(&buf);
}

Test(buf, reserve_and_commit_add_what_the_caller_wrote)
{
    struct buf buf;
    buf_init(&buf, 100);

    char *room = buf_reserve(&buf, 50);
    memcpy(room, "read", 4);
    buf_commit(&buf, 4);

    cr_assert(eq(str, buf.data, "read"));
    buf_free(&buf);
}

Test(buf, detach_hands_over_the_bytes)
{
    struct buf buf;
    size_t size = 0;
    buf_init(&buf, 100);
    buf_printf(&buf, "%d-%s", 7, "x");

    char *text = buf_detach(&buf, &size);

    cr_assert(eq(str, text, "7-x"));
    cr_assert(eq(sz, size, 3));
    cr_assert(eq(sz, buf.size, 0));
    free(text);
}

Test(buf, escapes_json_strings)
{
    struct buf buf;
    buf_init(&buf, 100);

    buf_put_json_string(&buf, "a\"\\\n\x01\0z\xc3\xa9", 9);

    cr_assert(eq(str, buf.data, "\"a\\\"\\\\\\n\\u0001\\u0000z\xc3\xa9\""));
    buf_free(&buf);
}
