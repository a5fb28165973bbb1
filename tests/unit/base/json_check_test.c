#include "base/json_check.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

struct sample {
    const char *text;
    size_t size;
};
#define SAMPLE(text)                                                                               \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const struct sample good[] = {
    SAMPLE("null"),
    SAMPLE("true"),
    SAMPLE("false"),
    SAMPLE("0"),
    SAMPLE("-0"),
    SAMPLE("-0.0e-0"),
    SAMPLE("123456789012345678901234567890"),
    SAMPLE("9007199254740993"),
    SAMPLE("1e5"),
    SAMPLE("1E+5"),
    SAMPLE("0e1"),
    SAMPLE("1e999999"),
    SAMPLE("\"\""),
    SAMPLE("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\""),
    SAMPLE("\"\\ud83d\\ude00\""),
    SAMPLE("\"\\uD83D\\uDE00 \\uFFFF\""),
    SAMPLE("\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\""),
    SAMPLE(" \t\r\n[ ] \n"),
    SAMPLE("{}"),
    SAMPLE("{\"a\":1,\"a\":2}"),
    SAMPLE("[1,2,[3,{\"x\":[true,false,null]}],\"s\"]"),
    SAMPLE("{\"a\" : { \"b\" : [ ] } }"),
};

static const struct sample bad[] = {
    SAMPLE(""),
    SAMPLE(" "),
    SAMPLE("nul"),
    SAMPLE("nulll"),
    SAMPLE("True"),
    SAMPLE("NaN"),
    SAMPLE("Infinity"),
    SAMPLE("01"),
    SAMPLE("-01"),
    SAMPLE("-"),
    SAMPLE("+1"),
    SAMPLE(".5"),
    SAMPLE("1."),
    SAMPLE("1.e5"),
    SAMPLE("1e"),
    SAMPLE("1e+"),
    SAMPLE("1e5.5"),
    SAMPLE("1e5e5"),
    SAMPLE("0x10"),
    SAMPLE("1 2"),
    SAMPLE("{} {}"),
    SAMPLE("[1,]"),
    SAMPLE("[,1]"),
    SAMPLE("[1 2]"),
    SAMPLE("["),
    SAMPLE("]"),
    SAMPLE("[}"),
    SAMPLE("{]"),
    SAMPLE("{\"a\"}"),
    SAMPLE("{\"a\":}"),
    SAMPLE("{\"a\":1,}"),
    SAMPLE("{a:1}"),
    SAMPLE("{1:1}"),
    SAMPLE("{\"a\" 1}"),
    SAMPLE("{\"a\":1 \"b\":2}"),
    SAMPLE("'a'"),
    SAMPLE("\"a"),
    SAMPLE("\"\\\""),
    SAMPLE("\"\\x41\""),
    SAMPLE("\"\\u12\""),
    SAMPLE("\"\\u12g4\""),
    SAMPLE("\"\\u0000\""),
    SAMPLE("{\"\\u0000\":1}"),
    SAMPLE("\"\\ud800\""),
    SAMPLE("\"\\ud800x\""),
    SAMPLE("\"\\ud800\\n\""),
    SAMPLE("\"\\ud800\\ud800\""),
    SAMPLE("\"\\ud800\\u0041\""),
    SAMPLE("\"\\udc00\""),
    SAMPLE("\"\\ud83d\\ude00\\ude00\""),
    SAMPLE("\"a\0b\""),
    SAMPLE("null\0"),
    SAMPLE("\0null"),
    SAMPLE("\"a\nb\""),
    SAMPLE("\"a\tb\""),
    SAMPLE("\"\x1f\""),
    SAMPLE("\"\xff\""),
    SAMPLE("\"\x80\""),
    SAMPLE("\"\xc0\x80\""),
    SAMPLE("\"\xc1\xbf\""),
    SAMPLE("\"\xe0\x80\x80\""),
    SAMPLE("\"\xed\xa0\x80\""),
    SAMPLE("\"\xf0\x80\x80\x80\""),
    SAMPLE("\"\xf4\x90\x80\x80\""),
    SAMPLE("\"\xf5\x80\x80\x80\""),
    SAMPLE("\"\xe2\x82\""),
    SAMPLE("\"\xc3\""),
    SAMPLE("\xef\xbb\xbf{}"),
    SAMPLE("\xc2\xa0null"),
    SAMPLE("/* */ 1"),
    SAMPLE("1 // x"),
};

/* In pieces of `piece` bytes. */
static bool accepts(const struct sample *sample, size_t piece)
{
    struct json_check check;
    json_check_init(&check, LIMIT_JSON_DEPTH);
    for (size_t at = 0; at < sample->size; at += piece) {
        size_t size = sample->size - at < piece ? sample->size - at : piece;
        if (!json_check_feed(&check, sample->text + at, size))
            return false;
    }
    return json_check_end(&check);
}

Test(json_check, accepts_json_however_it_is_cut)
{
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        for (size_t piece = 1; piece <= good[i].size; piece++)
            cr_expect(accepts(&good[i], piece), "%s in pieces of %zu", good[i].text, piece);
    }
}

Test(json_check, refuses_everything_else_however_it_is_cut)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        for (size_t piece = 1; piece <= bad[i].size + 1; piece++)
            cr_expect(not(accepts(&bad[i], piece)), "%s in pieces of %zu", bad[i].text, piece);
    }
}

static bool nested(char open, char close, size_t depth)
{
    static char text[4 * LIMIT_JSON_DEPTH];
    memset(text, open, depth);
    memset(text + depth, close, depth);
    struct sample sample = {text, 2 * depth};
    return accepts(&sample, 100);
}

Test(json_check, nests_to_its_limit_and_no_further)
{
    cr_assert(nested('[', ']', LIMIT_JSON_DEPTH));
    cr_assert(not(nested('[', ']', LIMIT_JSON_DEPTH + 1)));
}

Test(json_check, keeps_objects_and_arrays_apart_at_every_depth)
{
    char text[16 * LIMIT_JSON_DEPTH] = "";
    size_t used = 0;
    for (int i = 0; i < LIMIT_JSON_DEPTH / 2; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "[{\"a\":");
    used += (size_t)snprintf(text + used, sizeof text - used, "1");
    for (int i = 0; i < LIMIT_JSON_DEPTH / 2; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "}]");
    struct sample sample = {text, used};

    cr_assert(accepts(&sample, 7));
    text[used - 1] = '}';
    cr_assert(not(accepts(&sample, 7)));
}

Test(json_check, tells_what_is_wrong_and_where)
{
    struct error error;

    bool result = json_check_text("{\"secret\":\"\\u0000\"}", 19, &error);

    cr_assert(not(result));
    cr_assert(eq(str, error.text, "not JSON: \\u0000, which PostgreSQL cannot store at byte 16"));
}

Test(json_check, stays_broken)
{
    struct json_check check;
    json_check_init(&check, 8);

    cr_assert(not(json_check_feed(&check, "]", 1)));

    cr_assert(not(json_check_feed(&check, "[]", 2)));
    cr_assert(not(json_check_end(&check)));
}
