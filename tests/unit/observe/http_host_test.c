#include "observe/http_host.h"

#include <criterion/criterion.h>
#include <string.h>

Test(http_host, numbers_and_localhost_are_this_machine)
{
    const char *local[] = {"127.0.0.1",     "127.0.0.1:9187",
                           "[::1]",         "[::1]:9187",
                           "localhost",     "localhost:80",
                           "LocalHost",     "[::ffff:127.0.0.1]:80",
                           "10.0.0.1:9187", NULL};

    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++)
        cr_assert(http_host_is_local(local[i]), "%s", local[i]);
}

Test(http_host, every_other_name_is_a_site_of_somebody)
{
    char long_name[300] = "";
    const char *others[] = {"",
                            ":80",
                            "rebound.example",
                            "rebound.example:9187",
                            "127.0.0.1.example",
                            "localhost.example",
                            "localhost@rebound.example",
                            "[::1].example",
                            "[::1",
                            "[localhost]",
                            "::1",
                            "127.1",
                            "[]",
                            "[127.0.0.1]",
                            " localhost",
                            "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0001]",
                            long_name};

    memset(long_name, '1', sizeof long_name - 1);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        cr_assert_not(http_host_is_local(others[i]), "%s", others[i]);
}
