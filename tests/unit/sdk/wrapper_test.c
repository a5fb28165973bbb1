/* pgflow/module.hpp: what the steps of tests/plugins/flow_wrapped.cpp give, and the descriptor
 * that was built for them at compile time. */
#include <criterion/criterion.h>
#include <pgflow/testkit.h>
#include <stdlib.h>
#include <string.h>

static pgf_test *wrapped;

static void open_module(void)
{
    wrapped = pgf_test_open(WRAPPED);
    cr_assert_null(pgf_test_problem(wrapped), "%s", pgf_test_problem(wrapped));
}

static void close_module(void)
{
    pgf_test_close(wrapped);
}

TestSuite(wrapper, .init = open_module, .fini = close_module);

static void gives(const char *step, const char *input, const char *expected)
{
    cr_assert_eq(pgf_test_call(wrapped, step, input), PGF_OK, "%s: %s", step,
                 pgf_test_error(wrapped));
    cr_assert_str_eq(pgf_test_output(wrapped), expected);
}

static void fails(const char *step, const char *input, int32_t result, const char *error)
{
    cr_assert_eq(pgf_test_call(wrapped, step, input), result);
    cr_assert_str_eq(pgf_test_error(wrapped), error);
}

Test(wrapper, hands_inputs_over_as_the_types_that_handlers_ask_for)
{
    gives("greet", "\"Ada\"", "{\"hello\": \"Ada\"}");
    gives("bill", "{\"cents\":100}", "{\"cents\": 120}");
    gives("halve", "-9223372036854775808", "-4611686018427387904");
    gives("is_array", "[]", "true");
    gives("is_array", "{}", "false");
    gives("negate", "7", "-7");
}

Test(wrapper, writes_results_in_pieces)
{
    gives("write_twice", "{\"greet\": 1}", "[1,2]");
}

Test(wrapper, keeps_its_state_between_calls)
{
    gives("count", "{}", "1");
    gives("count", "{}", "2");
}

Test(wrapper, turns_exceptions_into_errors_of_the_attempt)
{
    fails("refuse", "{}", PGF_PERMANENT, "refuse");
    fails("throw_memory", "{}", PGF_ERROR, "out of memory");
    fails("throw_number", "{}", PGF_ERROR, "the handler threw something that is no std::exception");
    fails("guarded", "{}", PGF_ERROR, "guarded by hand");
    cr_assert_eq(pgf_test_call(wrapped, "throw_standard", "{}"), PGF_ERROR);
    cr_assert_not_null(strstr(pgf_test_error(wrapped), "range"), "%s", pgf_test_error(wrapped));
}

Test(wrapper, hands_over_when_to_try_again)
{
    pgf_test_set_attempt(wrapped, 2, 3);
    fails("halve", "3", PGF_ERROR, "attempt 2: odd");
    cr_assert_eq(pgf_test_retry_after(wrapped), 7);
}

Test(wrapper, refuses_inputs_of_another_type)
{
    fails("halve", "9223372036854775808", PGF_PERMANENT,
          "the input must be a whole number in range");
    fails("halve", "1.5", PGF_PERMANENT, "the input must be a whole number in range");
    fails("bill", "7", PGF_PERMANENT, "not an order");
    fails("late", "{\"greet\": 1}", PGF_PERMANENT,
          "the step has no flow_input: add .wants_flow_input() to it");
}

Test(wrapper, fails_for_good_when_the_result_is_too_large)
{
    pgf_test_set_max_output(wrapped, 2);
    fails("write_twice", "{\"greet\": 1}", PGF_PERMANENT,
          "the result is larger than the host takes");
}

Test(wrapper, stops_when_it_is_cancelled)
{
    pgf_test_cancel_at(wrapped, 3);

    cr_assert_eq(pgf_test_call(wrapped, "wait", "{}"), PGF_CANCELLED);
}

Test(wrapper, says_why_its_state_cannot_be_made)
{
    (void)setenv("MOODY", "1", 1);

    pgf_test *moody = pgf_test_open(WRAPPED);

    cr_assert_not_null(strstr(pgf_test_problem(moody), "not in the mood"));
    pgf_test_close(moody);
}

static const pgf_step *step_at(uint32_t index)
{
    return &pgf_test_module(wrapped)->steps[index];
}

Test(wrapper, builds_the_whole_descriptor)
{
    const pgf_module *module = pgf_test_module(wrapped);
    const pgf_options *patient = step_at(10)->options;

    cr_assert_str_eq(module->flow_slug, "wrapped");
    cr_assert_str_eq(module->alias, "wraps");
    cr_assert_str_eq(module->version, "1.2.3");
    cr_assert_eq(module->n_steps, 14);
    cr_assert_eq(module->options->max_attempts.value, 2);
    cr_assert_eq(module->options->timeout_s.is_set, 0);
    cr_assert_str_eq(step_at(0)->contract, "greeting/1");
    cr_assert_str_eq(step_at(2)->required_input, "{\"cents\": 100}");
    cr_assert_str_eq(step_at(2)->when_unmet, "skip-cascade");
    cr_assert_eq(step_at(3)->kind, PGF_STEP_MAP);
    cr_assert_str_eq(step_at(3)->forbidden_input, "{}");
    cr_assert_str_eq(step_at(3)->when_exhausted, "skip");
    cr_assert_str_eq(step_at(4)->deps[0], "greet");
    cr_assert_null(step_at(4)->deps[1]);
    cr_assert_eq(step_at(4)->flags, PGF_WANTS_FLOW_INPUT);
    cr_assert_eq(patient->max_attempts.value, 7);
    cr_assert_eq(patient->base_delay_s.value, 2);
    cr_assert_eq(patient->timeout_s.value, 1);
    cr_assert_eq(patient->start_delay_s.value, 3);
}
