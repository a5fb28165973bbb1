#include "ctl/command.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

static struct invocation invocation;
static struct error error;

static bool read_words(char **words)
{
    int count = 0;
    while (words[count] != NULL)
        count++;
    error_clear(&error);
    return invocation_read(&invocation, count, words, &error);
}
#define READ(...) read_words((char *[]){"pgflowctl", __VA_ARGS__, NULL})

static void assert_refused(const char *words)
{
    cr_assert(eq(int, error.code, ERROR_USAGE));
    cr_assert(ne(ptr, strstr(error.text, words), NULL), "'%s' in '%s'", words, error.text);
}

Test(invocation, shared_options_stand_on_either_side)
{
    cr_assert(READ("--database", "before", "--json", "runs"));
    cr_assert(eq(str, (char *)invocation.database, "before"));
    cr_assert(invocation.json);

    cr_assert(READ("runs", "--database=after"));
    cr_assert(eq(str, (char *)invocation.database, "after"));
    cr_assert(eq(str, (char *)invocation.command->name, "runs"));
}

Test(invocation, options_of_the_command_are_kept_apart)
{
    cr_assert(READ("start", "audit", "--input", "-", "--wait"));

    cr_assert(eq(str, (char *)invocation.arguments[0], "audit"));
    cr_assert(eq(str, (char *)invocation_value(&invocation, "input"), "-"));
    cr_assert(eq(str, (char *)invocation_value(&invocation, "wait"), ""));
    cr_assert(eq(ptr, (void *)invocation_value(&invocation, "timeout"), NULL));
}

Test(invocation, two_dashes_end_the_options)
{
    cr_assert(READ("start", "--", "--wait"));

    cr_assert(eq(str, (char *)invocation.arguments[0], "--wait"));
}

Test(invocation, offers_the_nearest_name)
{
    cr_assert(not(READ("worker")));
    assert_refused("did you mean 'workers'?");
    cr_assert(not(READ("start", "x", "--inptu", "{}")));
    assert_refused("did you mean '--input'?");
    cr_assert(not(READ("frobnicate")));
    assert_refused("pgflowctl --help");
}

Test(invocation, refuses_what_does_not_fit)
{
    cr_assert(not(READ("start")));
    assert_refused("usage: pgflowctl start FLOW");
    cr_assert(not(READ("start", "a", "b")));
    assert_refused("too many arguments");
    cr_assert(not(READ("start", "a", "--input")));
    assert_refused("needs a value");
    cr_assert(not(READ("start", "a", "--wait=1")));
    assert_refused("takes no value");
    cr_assert(not(READ("start", "a", "--wait", "--wait")));
    assert_refused("given twice");
    cr_assert(not(READ("runs", "-x")));
    assert_refused("two dashes");
    cr_assert(not(READ("--json")));
    assert_refused("a command is missing");
}

Test(invocation, help_needs_no_arguments)
{
    cr_assert(READ("start", "--help"));
    cr_assert(invocation.help);
    cr_assert(READ("--version"));
    cr_assert(invocation.version);
}

Test(invocation, numbers_have_bounds)
{
    int number = 0;
    cr_assert(READ("runs", "--limit", "5"));
    cr_assert(invocation_number(&invocation, "limit", 1, 10, 7, &number, &error));
    cr_assert(eq(int, number, 5));
    cr_assert(READ("runs"));
    cr_assert(invocation_number(&invocation, "limit", 1, 10, 7, &number, &error));
    cr_assert(eq(int, number, 7));
    static const char *const bad[] = {"0", "11", "5x", "", "-1", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert(READ("runs", "--limit", (char *)bad[i]));
        cr_expect(not(invocation_number(&invocation, "limit", 1, 10, 7, &number, &error)), "%s",
                  bad[i]);
    }
}
