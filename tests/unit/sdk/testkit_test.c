/* The test kit: what its calls give, and that it judges as a host does. */
#include <criterion/criterion.h>
#include <pgflow/testkit.h>
#include <string.h>

static pgf_test *opened(const char *path)
{
    pgf_test *module = pgf_test_open(path);
    cr_assert_null(pgf_test_problem(module), "%s", pgf_test_problem(module));
    return module;
}

Test(testkit, hands_a_root_step_the_input_of_the_run)
{
    pgf_test *hello = opened(HELLO);

    cr_assert_eq(pgf_test_call(hello, "greet", "\"Ada\""), PGF_OK);

    cr_assert_str_eq(pgf_test_output(hello), "{\"hello\": \"Ada\"}");
    cr_assert_str_eq(pgf_test_error(hello), "");
    cr_assert_eq(pgf_test_retry_after(hello), -1);
    pgf_test_close(hello);
}

Test(testkit, hands_other_steps_their_own_input)
{
    pgf_test *hello = opened(HELLO);
    pgf_test *fan = opened(FAN);

    cr_assert_eq(pgf_test_call(hello, "sign", "{\"greet\": 1}"), PGF_OK);
    cr_assert_str_eq(pgf_test_output(hello), "{\"letter\": {\"greet\": 1}, \"from\": \"pgflow\"}");
    cr_assert_eq(pgf_test_call(fan, "each", "21"), PGF_OK);
    cr_assert_str_eq(pgf_test_output(fan), "42");

    pgf_test_close(hello);
    pgf_test_close(fan);
}

Test(testkit, judges_outputs_as_a_host_does)
{
    pgf_test *faults = opened(FAULTS);

    cr_assert_eq(pgf_test_call(faults, "nothing", "{}"), PGF_OK);
    cr_assert_str_eq(pgf_test_output(faults), "null");
    cr_assert_eq(pgf_test_call(faults, "leading_zero", "{}"), PGF_ERROR);
    cr_assert_str_eq(pgf_test_output(faults), "");
    cr_assert_not_null(strstr(pgf_test_error(faults), "output is not JSON"));
    cr_assert_eq(pgf_test_call(faults, "over_limit", "{}"), PGF_ERROR);
    cr_assert_not_null(strstr(pgf_test_error(faults), "over the limit of 16 MiB"));

    pgf_test_close(faults);
}

Test(testkit, judges_failures_as_a_host_does)
{
    pgf_test *faults = opened(FAULTS);

    cr_assert_eq(pgf_test_call(faults, "error_text", "{}"), PGF_ERROR);
    cr_assert_str_eq(pgf_test_error(faults), "the mailbox is full");
    cr_assert_str_eq(pgf_test_output(faults), "");
    cr_assert_eq(pgf_test_call(faults, "permanent", "{}"), PGF_PERMANENT);
    cr_assert_eq(pgf_test_call(faults, "return", "{\"value\": 99}"), PGF_ERROR);
    cr_assert_str_eq(pgf_test_error(faults), "handler returned 99");
    cr_assert_eq(pgf_test_call(faults, "return", "{\"value\": 3}"), PGF_ERROR,
                 "PGF_CANCELLED that nobody asked for");
    cr_assert_eq(pgf_test_call(faults, "error_long", "{}"), PGF_ERROR);
    cr_assert_lt(strlen(pgf_test_error(faults)), 4096);

    pgf_test_close(faults);
}

Test(testkit, tells_the_attempt_and_hears_when_to_try_again)
{
    pgf_test *faults = opened(FAULTS);

    cr_assert_eq(pgf_test_call(faults, "retry_after", "{\"s\": 33}"), PGF_ERROR);
    cr_assert_eq(pgf_test_retry_after(faults), 33);
    pgf_test_set_attempt(faults, 2, 2);
    cr_assert_eq(pgf_test_call(faults, "retry_after", "{\"s\": 33}"), PGF_OK);
    cr_assert_str_eq(pgf_test_output(faults), "{\"attempt\": 2}");
    cr_assert_eq(pgf_test_retry_after(faults), -1);

    pgf_test_close(faults);
}

Test(testkit, cancels_at_the_question_that_was_named)
{
    pgf_test *faults = opened(FAULTS);
    pgf_test_cancel_at(faults, 2);

    cr_assert_eq(pgf_test_call(faults, "spin_politely", "{}"), PGF_CANCELLED);

    pgf_test_close(faults);
}

Test(testkit, keeps_the_log_lines_of_the_last_call)
{
    pgf_test *faults = opened(FAULTS);

    cr_assert_eq(pgf_test_call(faults, "print", "{}"), PGF_OK);
    cr_assert_str_eq(pgf_test_log(faults), "debug: debug\ninfo: info\nwarn: warn\nerror: error\n");
    cr_assert_eq(pgf_test_call(faults, "nothing", "{}"), PGF_OK);
    cr_assert_str_eq(pgf_test_log(faults), "");

    pgf_test_close(faults);
}

Test(testkit, gives_scratch_memory_and_takes_it_back)
{
    pgf_test *faults = opened(FAULTS);

    for (int i = 0; i < 3; i++)
        cr_assert_eq(pgf_test_call(faults, "scratch", "{\"mib\": 2}"), PGF_OK);

    cr_assert_str_eq(pgf_test_output(faults), "2097152");
    pgf_test_close(faults);
}

Test(testkit, hands_over_the_flow_input_where_a_step_asks_for_it)
{
    pgf_test *chain = opened(CHAIN);
    pgf_test_set_flow_input(chain, "{\"ms\": 0}");
    pgf_test_set_task_index(chain, 7);

    cr_assert_eq(pgf_test_call(chain, "second", "{\"first\": {}}"), PGF_OK);

    cr_assert_not_null(strstr(pgf_test_output(chain), "second"));
    pgf_test_close(chain);
}

Test(testkit, calls_nothing_when_the_test_is_mistaken)
{
    pgf_test *hello = opened(HELLO);

    cr_assert_eq(pgf_test_call(hello, "great", "{}"), PGF_TEST_MISTAKE);
    cr_assert_str_eq(pgf_test_error(hello), "the module has no step great");
    cr_assert_eq(pgf_test_call(hello, "greet", "{"), PGF_TEST_MISTAKE);
    cr_assert_not_null(strstr(pgf_test_error(hello), "the input is not JSON"));

    pgf_test_close(hello);
}

static void refuses(const char *path, const char *words)
{
    pgf_test *module = pgf_test_open(path);

    cr_assert_not_null(pgf_test_problem(module));
    cr_assert_not_null(strstr(pgf_test_problem(module), words), "%s", pgf_test_problem(module));
    cr_assert_eq(pgf_test_call(module, "only", "{}"), PGF_TEST_MISTAKE);
    cr_assert_str_eq(pgf_test_error(module), pgf_test_problem(module));
    pgf_test_close(module);
}

Test(testkit, refuses_what_a_host_would_refuse)
{
    refuses("/nonexistent/flow.so", "No such file");
    refuses("libc.so.6", "No such file");
    refuses(WRONG_MAGIC, "magic is 0x21212121");
    refuses(NO_ENTRY, "has no symbol pgflow_module_v1");
    refuses(INIT_FAILS, "init: dictionary /nonexistent/words is missing");
}

Test(testkit, shows_what_the_module_exports)
{
    pgf_test *wrapped = opened(WRAPPED);

    cr_assert_str_eq(pgf_test_module(wrapped)->alias, "wraps");

    pgf_test_close(wrapped);
    pgf_test_close(NULL);
}

Test(testkit, takes_null_for_a_mistake)
{
    pgf_test *hello = opened(HELLO);
    pgf_test *nowhere = pgf_test_open(NULL);

    cr_assert_eq(pgf_test_call(hello, NULL, "{}"), PGF_TEST_MISTAKE);
    cr_assert_str_eq(pgf_test_error(hello), "the step is NULL");
    cr_assert_eq(pgf_test_call(hello, "greet", NULL), PGF_TEST_MISTAKE);
    cr_assert_str_eq(pgf_test_error(hello), "the input is NULL");
    cr_assert_eq(pgf_test_call(nowhere, "greet", "{}"), PGF_TEST_MISTAKE);
    cr_assert_str_eq(pgf_test_problem(nowhere), "pgf_test_open: the path is NULL");
    cr_assert_null(pgf_test_module(NULL));
    pgf_test_close(hello);
    pgf_test_close(nowhere);
}

Test(testkit, names_the_file_that_cannot_be_opened)
{
    pgf_test *missing = pgf_test_open("no/such/flow.so");

    cr_assert_eq(strncmp(pgf_test_problem(missing), "no/such/flow.so: ", 17), 0, "%s",
                 pgf_test_problem(missing));
    pgf_test_close(missing);
}
