/* pgflow/module.hpp: what the steps of tests/plugins/flow_wrapped.cpp give, and the descriptor
 * that was built for them at compile time. */
#include "examples/drive.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct drive wrapped;

static void open_module(void)
{
    drive_open(&wrapped, WRAPPED);
}

static void close_module(void)
{
    drive_close(&wrapped);
}

TestSuite(wrapper, .init = open_module, .fini = close_module);

static void gives(const char *step, const char *input, const char *flow_input, const char *expected)
{
    cr_assert_eq(drive_run(&wrapped, step, input, flow_input), PGF_OK, "%s: %s", step,
                 wrapped.error.data);
    cr_assert_str_eq(wrapped.output.data, expected);
}

static void fails(const char *step, const char *input, int32_t result, const char *error)
{
    cr_assert_eq(drive_run(&wrapped, step, input, NULL), result);
    cr_assert_str_eq(wrapped.error.data, error);
}

Test(wrapper, hands_inputs_over_as_the_types_that_handlers_ask_for)
{
    gives("greet", "{}", "\"Ada\"", "{\"hello\": \"Ada\"}");
    gives("bill", "{}", "{\"cents\":100}", "{\"cents\": 120}");
    gives("halve", "-9223372036854775808", NULL, "-4611686018427387904");
    gives("is_array", "[]", NULL, "true");
    gives("is_array", "{}", NULL, "false");
}

Test(wrapper, writes_results_in_pieces)
{
    gives("write_twice", "{}", NULL, "[1,2]");
}

Test(wrapper, keeps_its_state_between_calls)
{
    gives("count", "{}", NULL, "1");
    gives("count", "{}", NULL, "2");
}

Test(wrapper, turns_exceptions_into_errors_of_the_attempt)
{
    fails("refuse", "{}", PGF_PERMANENT, "refuse");
    fails("throw_memory", "{}", PGF_ERROR, "out of memory");
    fails("throw_number", "{}", PGF_ERROR, "the handler threw something that is no std::exception");
    fails("guarded", "{}", PGF_ERROR, "guarded by hand");
    cr_assert_eq(drive_run(&wrapped, "throw_standard", "{}", NULL), PGF_ERROR);
    cr_assert_not_null(strstr(wrapped.error.data, "range"), "%s", wrapped.error.data);
}

Test(wrapper, hands_over_when_to_try_again)
{
    wrapped.attempt = 2;
    fails("halve", "3", PGF_ERROR, "attempt 2: odd");
    cr_assert_eq(wrapped.retry_after, 7);
}

Test(wrapper, refuses_inputs_of_another_type)
{
    fails("halve", "9223372036854775808", PGF_PERMANENT,
          "the input must be a whole number in range");
    fails("halve", "1.5", PGF_PERMANENT, "the input must be a whole number in range");
    cr_assert_eq(drive_run(&wrapped, "bill", "{}", "7"), PGF_PERMANENT);
    cr_assert_str_eq(wrapped.error.data, "not an order");
    fails("bill", "{}", PGF_PERMANENT, "the step has no flow_input: add .wants_flow_input() to it");
}

Test(wrapper, fails_for_good_when_the_result_is_too_large)
{
    wrapped.write_limit = 2;
    fails("write_twice", "{}", PGF_PERMANENT, "the result is larger than the host takes");
}

Test(wrapper, stops_when_it_is_cancelled)
{
    wrapped.cancelled = true;
    fails("wait", "{}", PGF_CANCELLED, "cancelled");
}

Test(wrapper, says_why_its_state_cannot_be_made)
{
    struct drive moody = {0};
    setenv("MOODY", "1", 1);

    cr_assert_not(drive_try_open(&moody, WRAPPED));

    cr_assert_str_eq(moody.log.data, "not in the mood");
    drive_close(&moody);
}

static const pgf_step *step_at(uint32_t index)
{
    return &wrapped.module->steps[index];
}

Test(wrapper, builds_the_whole_descriptor)
{
    const pgf_module *module = wrapped.module;
    const pgf_options *patient = step_at(10)->options;

    cr_assert_str_eq(module->flow_slug, "wrapped");
    cr_assert_str_eq(module->alias, "wraps");
    cr_assert_str_eq(module->version, "1.2.3");
    cr_assert_eq(module->n_steps, 12);
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
