#include "observe/listen_address.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

static struct listen_address address;
static struct error error;

Test(listen_address, numeric_addresses_come_back_as_they_were_given)
{
    const char *good[] = {"127.0.0.1:9187", "0.0.0.0:0", "[::1]:65535", "[::]:1"};

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char text[LISTEN_ADDRESS_TEXT];
        cr_assert(listen_address_parse(good[i], &address, &error), "%s: %s", good[i], error.text);
        listen_address_print(&address, text);
        cr_assert(eq(str, text, (char *)good[i]));
    }
}

Test(listen_address, anything_else_is_refused_with_what_would_be_right)
{
    const char *bad[] = {"",           "9187",         ":9187",          "127.0.0.1",
                         "127.0.0.1:", "localhost:80", "127.0.0.1:1x",   "127.0.0.1:65536",
                         "::1:9187",   "[::1]",        "[127.0.0.1]:80", "127.0.0.1:+80",
                         "[]:80",      "1.2.3:80",     "127.0.0.1:-1",   "127.0.0.1:000080"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert(not(listen_address_parse(bad[i], &address, &error)), "%s", bad[i]);
        cr_assert(eq(int, error.code, ERROR_USAGE));
        cr_assert(ne(ptr, strstr(error.text, "127.0.0.1:9187"), NULL), "%s", error.text);
    }
}

Test(listen_address, what_this_machine_alone_reaches_is_known)
{
    const struct {
        const char *text;
        bool is_loopback;
    } cases[] = {
        {"127.0.0.1:1", true},          {"127.9.0.1:1", true}, {"[::1]:1", true},
        {"[::ffff:127.0.0.1]:1", true}, {"0.0.0.0:1", false},  {"[::]:1", false},
        {"128.0.0.1:1", false},         {"10.0.0.1:1", false}, {"[::ffff:10.0.0.1]:1", false},
        {"[fe80::1]:1", false}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_assert(listen_address_parse(cases[i].text, &address, &error), "%s", cases[i].text);
        cr_assert(eq(int, listen_address_is_loopback(&address), cases[i].is_loopback), "%s",
                  cases[i].text);
    }
}

Test(listen_address, a_host_longer_than_any_address_is_refused)
{
    char text[300];

    memset(text, '1', sizeof text);
    memcpy(text + sizeof text - 4, ":80", 4);
    cr_assert(not(listen_address_parse(text, &address, &error)));
}
