/*
 * Outputs of handlers: the judge gives the same answer however the text is cut,
 * and what it accepts any parser takes. The parser that the SDK gives to authors
 * accepts the same, but for keys that come twice, and prints what it read as JSON.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "base/json_check.h"
#include "base/text.h"

#include <pgflow/json.h>
#include <string.h>

static bool judge_pieces(const char *text, size_t size, size_t piece)
{
    struct json_check check;
    json_check_init(&check, LIMIT_JSON_DEPTH);
    while (size > 0) {
        size_t now = size < piece ? size : piece;
        if (!json_check_feed(&check, text, now))
            return false;
        text += now;
        size -= now;
    }
    return json_check_end(&check);
}

/* Any bytes, cleaned and quoted, are JSON that says the same. */
static void check_quoting(const char *text, size_t size)
{
    char clean[512];
    struct error error = {0};
    struct buf json;
    size_t length = text_clean(clean, sizeof clean, text, size);
    FUZZ_CHECK(length < sizeof clean && strlen(clean) == length && text_is_utf8(clean, length));
    buf_init(&json, 1 << 16);
    buf_put_json_string(&json, clean, length);
    FUZZ_CHECK(buf_ok(&json) && json_check_text(json.data, json.size, &error));
    cJSON *read = cJSON_ParseWithLength(json.data, json.size);
    FUZZ_CHECK(cJSON_IsString(read) && strcmp(read->valuestring, clean) == 0);
    cJSON_Delete(read);
    buf_free(&json);
}

static void check_parser(const char *text, size_t size, bool accepted)
{
    pgf_json_problem problem = {0};
    struct error error = {0};
    cJSON *read = pgf_json_parse(text, size, &problem);
    FUZZ_CHECK((read == NULL) == (problem.what != NULL) && problem.offset <= size);
    if (read == NULL) {
        FUZZ_CHECK(!accepted || strstr(problem.what, "key twice") != NULL);
        return;
    }
    FUZZ_CHECK(accepted);
    char *printed = cJSON_PrintUnformatted(read);
    cJSON *again = pgf_json_parse(printed, strlen(printed), NULL);
    FUZZ_CHECK(json_check_text(printed, strlen(printed), &error) && again != NULL);
    cJSON_Delete(again);
    cJSON_free(printed);
    cJSON_Delete(read);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct error error = {0};
    bool accepted = json_check_text(text, size, &error);
    FUZZ_CHECK(accepted == (error.text[0] == '\0'));
    for (size_t piece = 1; piece <= 7; piece += 3)
        FUZZ_CHECK(judge_pieces(text, size, piece) == accepted);
    if (accepted) {
        cJSON *read = cJSON_ParseWithLength(text, size);
        FUZZ_CHECK(read != NULL && text_is_utf8(text, size) && memchr(text, '\0', size) == NULL);
        cJSON_Delete(read);
    }
    check_parser(text, size, accepted);
    check_quoting(text, size);
    return 0;
}
