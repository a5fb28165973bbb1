/* pgflow/json.h: what it takes, what it refuses and why, and numbers that stay what they are. */
#include <pgflow/json.h>

#include "base/buf.h"
#include "base/json_check.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call that keeps what the helpers tell it. */
struct spy {
    pgf_call call;
    struct buf output;
    char error[256];
    int32_t write_answer;
};

static int32_t keep_output(const pgf_call *call, const char *json, size_t len)
{
    struct spy *spy = call->ctx;
    buf_put(&spy->output, json, len);
    return spy->write_answer;
}

static void keep_error(const pgf_call *call, const char *text, size_t len)
{
    struct spy *spy = call->ctx;
    snprintf(spy->error, sizeof spy->error, "%.*s", (int)len, text);
}

static void spy_init(struct spy *spy, const char *input)
{
    *spy = (struct spy){.call = {.struct_size = sizeof spy->call,
                                 .input = {input, strlen(input)},
                                 .write = keep_output,
                                 .set_error = keep_error}};
    spy->call.ctx = spy;
    buf_init(&spy->output, LIMIT_MIB);
}

static void refuses(const char *text, size_t len, const char *what, size_t offset)
{
    pgf_json_problem problem = {NULL, 0};

    cJSON *item = pgf_json_parse(text, len, &problem);

    cr_assert_null(item, "took: %.*s", (int)len, text);
    cr_assert_str_eq(problem.what, what, "%.*s: %s", (int)len, text, problem.what);
    cr_assert_eq(problem.offset, offset, "%.*s: at %zu", (int)len, text, problem.offset);
}

static void stays(const char *text)
{
    cJSON *item = pgf_json_parse(text, strlen(text), NULL);
    cr_assert_not_null(item, "refused: %s", text);
    char *again = cJSON_PrintUnformatted(item);

    cr_assert_str_eq(again, text);

    cJSON_free(again);
    cJSON_Delete(item);
}

#define REFUSES(text, what, offset) refuses(text, sizeof(text) - 1, what, offset)

Test(json, takes_every_kind_of_value)
{
    stays("null");
    stays("true");
    stays("false");
    stays("\"\"");
    stays("[]");
    stays("{}");
    stays("[0,-1,2.5,\"a\",[null],{\"b\":{}}]");
    stays("{\"\":1,\"A\":2,\"a\":3}");
    stays("\"\\\"\\\\/\\b\\f\\n\\r\\t\"");
}

Test(json, refuses_what_is_no_json)
{
    REFUSES("", "no value", 0);
    REFUSES("  ", "no value", 2);
    REFUSES("nul", "no value", 0);
    REFUSES("[1,]", "no value", 3);
    REFUSES("[1 2]", "neither a comma nor the end of an array", 3);
    REFUSES("[1", "neither a comma nor the end of an array", 2);
    REFUSES("{\"a\":1", "neither a comma nor the end of an object", 6);
    REFUSES("{\"a\" 1}", "no colon behind a key", 5);
    REFUSES("{a:1}", "no key", 1);
    REFUSES("{\"a\":1,}", "no key", 7);
    REFUSES("{} {}", "more than one value", 3);
    REFUSES("01", "more than one value", 1);
    REFUSES("-", "no value", 1);
    REFUSES("1.", "a number without digits behind the point", 2);
    REFUSES("1e+", "a number without digits in its exponent", 3);
}

Test(json, refuses_strings_that_are_none)
{
    REFUSES("\"a", "a string without end", 2);
    REFUSES("\"a\\", "an unknown escape", 2);
    REFUSES("\"\\x\"", "an unknown escape", 1);
    REFUSES("\"\\u12\"", "\\u without four hex digits", 1);
    REFUSES("\"\\u0000\"", "\\u0000", 1);
    REFUSES("\"\\ud83d\"", "a surrogate without its pair", 1);
    REFUSES("\"\\ud83d\\u0041\"", "a surrogate without its pair", 1);
    REFUSES("\"\\ude00\"", "a surrogate without its pair", 1);
    REFUSES("\"a\nb\"", "a control character in a string", 2);
    REFUSES("\"a\0b\"", "a control character in a string", 2);
    REFUSES("\"\xC3(\"", "bytes that are no UTF-8", 1);
    REFUSES("\"\xC0\xAF\"", "bytes that are no UTF-8", 1);
    REFUSES("\"\xED\xA0\x80\"", "bytes that are no UTF-8", 1);
    REFUSES("\"\xF4\x90\x80\x80\"", "bytes that are no UTF-8", 1);
    REFUSES("\"\xE2\x82", "bytes that are no UTF-8", 1);
}

Test(json, decodes_escapes_of_any_length)
{
    cJSON *item = pgf_json_parse("\"\\u0041\\u00e9\\u20ac\\uD83D\\uDE00\"", 32, NULL);

    cr_assert_str_eq(cJSON_GetStringValue(item), "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");

    cJSON_Delete(item);
}

Test(json, keeps_long_strings_whole)
{
    char text[4096];
    memset(text, 'x', sizeof text);
    text[0] = text[sizeof text - 1] = '"';

    cJSON *item = pgf_json_parse(text, sizeof text, NULL);

    cr_assert_eq(strlen(cJSON_GetStringValue(item)), sizeof text - 2);
    cJSON_Delete(item);
}

/* An object {"k0":0,...} with a last member of that name. */
static cJSON *parse_object(int members, const char *last, pgf_json_problem *problem)
{
    struct buf text;
    buf_init(&text, LIMIT_MIB);
    buf_puts(&text, "{");
    for (int i = 0; i < members; i++)
        buf_printf(&text, "\"k%d\":%d,", i, i);
    buf_printf(&text, "\"%s\":0}", last);
    cJSON *item = pgf_json_parse(text.data, text.size, problem);
    buf_free(&text);
    return item;
}

Test(json, refuses_a_key_twice_in_an_object_of_any_size)
{
    static const int sizes[] = {1, 15, 16, 17, 1000};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        pgf_json_problem problem = {NULL, 0};
        cr_assert_null(parse_object(sizes[i], "k0", &problem), "%d members", sizes[i]);
        cr_assert_not_null(strstr(problem.what, "key twice"), "%s", problem.what);
        cJSON *item = parse_object(sizes[i], "last", NULL);
        cr_assert_eq(cJSON_GetArraySize(item), sizes[i] + 1);
        cJSON_Delete(item);
    }
    REFUSES("{\"a\":1,\"\\u0061\":2}", "a key twice", 7);
}

Test(json, allows_the_deepest_nesting_and_no_more)
{
    char text[2 * PGF_JSON_DEPTH + 2];
    memset(text, '[', PGF_JSON_DEPTH + 1);
    memset(text + PGF_JSON_DEPTH + 1, ']', PGF_JSON_DEPTH + 1);

    cJSON *item = pgf_json_parse(text + 1, sizeof text - 2, NULL);

    cr_assert_not_null(item);
    cJSON_Delete(item);
    refuses(text, sizeof text, "nested too deeply", PGF_JSON_DEPTH);
}

Test(json, leaves_integers_of_any_size_as_they_are)
{
    stays("999999999999999");
    stays("1000000000000001");
    stays("9007199254740992");
    stays("9007199254740993");
    stays("-9007199254740993");
    stays("9223372036854775807");
    stays("-9223372036854775808");
    stays("18446744073709551615");
    stays("123456789012345678901234567890");
    stays("1e400");
}

static int64_t int64_of(const char *text, int expected)
{
    int64_t value = 42;
    cJSON *item = pgf_json_parse(text, strlen(text), NULL);
    cr_assert_eq(pgf_json_int64(item, &value), expected, "%s", text);
    cJSON_Delete(item);
    return value;
}

/* As doubles they would be 0. */
Test(json, leaves_numbers_below_every_double_as_they_are)
{
    stays("1E-400");
    stays("-0.0000001e-330");
    cr_assert_eq(int64_of("1E-400", 0), 42);
    cr_assert_eq(int64_of("0e-400", 1), 0);
    cr_assert_eq(int64_of("-0.000", 1), 0);
}

static uint64_t uint64_of(const char *text, int expected)
{
    uint64_t value = 42;
    cJSON *item = pgf_json_parse(text, strlen(text), NULL);
    cr_assert_eq(pgf_json_uint64(item, &value), expected, "%s", text);
    cJSON_Delete(item);
    return value;
}

Test(json, reads_integers_exactly_to_the_ends_of_their_range)
{
    cr_assert_eq(int64_of("0", 1), 0);
    cr_assert_eq(int64_of("-0", 1), 0);
    cr_assert_eq(int64_of("1e3", 1), 1000);
    cr_assert_eq(int64_of("-9007199254740993", 1), -INT64_C(9007199254740993));
    cr_assert_eq(int64_of("9223372036854775807", 1), INT64_MAX);
    cr_assert_eq(int64_of("-9223372036854775808", 1), INT64_MIN);
    cr_assert_eq(uint64_of("18446744073709551615", 1), UINT64_MAX);
    cr_assert_eq(uint64_of("-0", 1), 0);
}

Test(json, reads_no_integer_from_anything_else)
{
    cr_assert_eq(int64_of("9223372036854775808", 0), 42);
    cr_assert_eq(int64_of("-9223372036854775809", 0), 42);
    cr_assert_eq(int64_of("123456789012345678901234567890", 0), 42);
    cr_assert_eq(int64_of("1.5", 0), 42);
    cr_assert_eq(int64_of("1e400", 0), 42);
    cr_assert_eq(int64_of("\"7\"", 0), 42);
    cr_assert_eq(int64_of("null", 0), 42);
    cr_assert_eq(uint64_of("-1", 0), 42);
    cr_assert_eq(uint64_of("18446744073709551616", 0), 42);
    cr_assert_eq(pgf_json_int64(NULL, NULL), 0);
}

static void prints(cJSON *item, const char *expected)
{
    char *text = cJSON_PrintUnformatted(item);
    cr_assert_str_eq(text, expected);
    cJSON_free(text);
    cJSON_Delete(item);
}

Test(json, makes_items_that_print_as_the_number_they_were_made_from)
{
    prints(pgf_json_from_int64(-7), "-7");
    prints(pgf_json_from_int64(1000000000000001), "1000000000000001");
    prints(pgf_json_from_int64(INT64_MIN), "-9223372036854775808");
    prints(pgf_json_from_int64(INT64_C(9007199254740993)), "9007199254740993");
    prints(pgf_json_from_uint64(UINT64_MAX), "18446744073709551615");
    prints(pgf_json_from_uint64(0), "0");
}

Test(json, finds_members_by_their_exact_name)
{
    cJSON *object = pgf_json_parse("{\"Name\":\"a\",\"name\":1}", 21, NULL);

    cr_assert_str_eq(pgf_json_text(object, "Name", "?"), "a");
    cr_assert_str_eq(pgf_json_text(object, "name", "?"), "?");
    cr_assert_str_eq(pgf_json_text(NULL, "name", "?"), "?");
    cr_assert_null(pgf_json_member(object, "NAME"));
    cr_assert_null(pgf_json_member(pgf_json_member(object, "name"), "name"));

    cJSON_Delete(object);
}

Test(json, sets_the_error_of_a_call_whose_input_is_none)
{
    struct spy spy;
    spy_init(&spy, "{\"secret\": 12,}");

    cr_assert_null(pgf_json_input(&spy.call));
    cr_assert_str_eq(spy.error, "the input is not JSON: no key at byte 14");

    cr_assert_null(pgf_json_flow_input(&spy.call));
    cr_assert_not_null(strstr(spy.error, "PGF_WANTS_FLOW_INPUT"));
}

Test(json, gives_a_tree_as_the_result)
{
    struct spy spy;
    spy_init(&spy, "{\"n\": 9007199254740993}");

    cJSON *input = pgf_json_input(&spy.call);
    cr_assert_eq(pgf_json_give(&spy.call, input), PGF_OK);

    cr_assert_str_eq(spy.output.data, "{\"n\":9007199254740993}");
    buf_free(&spy.output);
}

Test(json, says_why_a_result_cannot_be_given)
{
    struct spy spy;
    spy_init(&spy, "{}");

    cr_assert_eq(pgf_json_give(&spy.call, NULL), PGF_ERROR);
    cr_assert_str_eq(spy.error, "out of memory for the result");

    static const double none[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        cJSON *tree = cJSON_CreateObject();
        cJSON_AddItemToArray(cJSON_AddArrayToObject(tree, "a"), cJSON_CreateNumber(1));
        cJSON_AddItemToArray(cJSON_AddArrayToObject(tree, "b"), cJSON_CreateNumber(none[i]));
        cr_assert_eq(pgf_json_give(&spy.call, tree), PGF_PERMANENT);
        cr_assert_not_null(strstr(spy.error, "NaN or infinity"), "%s", spy.error);
        cr_assert_eq(spy.output.size, 0);
    }

    spy.write_answer = 1;
    cr_assert_eq(pgf_json_give(&spy.call, cJSON_CreateNull()), PGF_PERMANENT);
    cr_assert_str_eq(spy.error, "the result is larger than the host takes");
    buf_free(&spy.output);
}

static int allocations_left;

static void *allocate_some(size_t size)
{
    return allocations_left-- > 0 ? malloc(size) : NULL;
}

/* Every allocation of cJSON fails once; nothing is lost and nothing is half read. */
Test(json, survives_every_failed_allocation)
{
    static const char text[] = "{\"a\":[1,2.5,\"x\",null,true,9007199254740993],\"b\":{\"c\":{}}}";
    cJSON_Hooks hooks = {allocate_some, free};
    cJSON *item = NULL;

    cJSON_InitHooks(&hooks);
    for (int n = 0; item == NULL; n++) {
        pgf_json_problem problem = {NULL, 0};
        allocations_left = n;
        item = pgf_json_parse(text, sizeof text - 1, &problem);
        cr_assert(item != NULL || strcmp(problem.what, "out of memory") == 0, "%s", problem.what);
        cr_assert_lt(n, 100);
    }
    allocations_left = 1000;
    prints(item, text);
}
