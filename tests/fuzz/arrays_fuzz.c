/*
 * SQL arrays: what is encoded for the server is what the server would read, and
 * what the server prints is read back as it was, whatever stands in it.
 */
#include "fuzz.h"

#include "db/params.h"
#include "db/result.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST = 64 };

static uint32_t get_uint32(const char **from)
{
    uint32_t value;
    memcpy(&value, *from, sizeof value);
    *from += sizeof value;
    return ntohl(value);
}

/* array_recv's view of the bytes. */
static void check_binary(const struct param *param, char *const *texts, size_t count)
{
    const char *at = param->bytes.data;
    FUZZ_CHECK(param->format == 1 && get_uint32(&at) == (count > 0));
    FUZZ_CHECK(get_uint32(&at) == 1 && get_uint32(&at) == 25);
    if (count > 0)
        FUZZ_CHECK(get_uint32(&at) == count && get_uint32(&at) == 1);
    for (size_t i = 0; i < count; i++) {
        uint32_t size = get_uint32(&at);
        FUZZ_CHECK(texts[i] ? size == strlen(texts[i]) : size == UINT32_MAX);
        if (!texts[i])
            continue;
        FUZZ_CHECK(memcmp(at, texts[i], size) == 0);
        at += size;
    }
    FUZZ_CHECK(at == param->bytes.data + param->bytes.size);
}

static void check_encoding(char *const *texts, size_t count, bool sized)
{
    struct params params;
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += texts[i] ? strlen(texts[i]) : 0;
    params_init(&params);
    struct param *array = params_array(&params, PARAMS_TEXT_ARRAY, count, sized ? bytes : 0);
    for (size_t i = 0; i < count; i++)
        param_put_text(array, texts[i], texts[i] ? strlen(texts[i]) : 0);
    FUZZ_CHECK(params_ok(&params));
    check_binary(array, texts, count);
    params_free(&params);
}

/* As array_out prints it. */
static void print_array(struct buf *out, char *const *texts, size_t count)
{
    buf_putc(out, '{');
    for (size_t i = 0; i < count; i++) {
        const char *text = texts[i];
        if (i > 0)
            buf_putc(out, ',');
        if (!text) {
            buf_puts(out, "NULL");
            continue;
        }
        bool quote = !*text || strcasecmp(text, "NULL") == 0 || strpbrk(text, "\"\\{}, \t\n\r\v\f");
        buf_puts(out, quote ? "\"" : "");
        for (; *text; text++) {
            if (*text == '"' || *text == '\\')
                buf_putc(out, '\\');
            buf_putc(out, *text);
        }
        buf_puts(out, quote ? "\"" : "");
    }
    buf_putc(out, '}');
}

static PGresult *make_result(const char *value)
{
    static char name[] = "a";
    PGresAttDesc column = {.name = name, .typid = 1009, .typlen = -1, .atttypmod = -1};
    PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    FUZZ_CHECK(result && PQsetResultAttrs(result, 1, &column));
    /* PQsetvalue copies; it takes what it does not change as char *. */
    FUZZ_CHECK(PQsetvalue(result, 0, 0, (char *)(uintptr_t)value, (int)strlen(value)));
    return result;
}

static void check_decoding(char *const *texts, size_t count)
{
    struct buf text;
    struct db_texts read;
    buf_init(&text, 1 << 24);
    print_array(&text, texts, count);
    PGresult *result = make_result(text.data);
    FUZZ_CHECK(result_texts(result, 0, 0, &read));
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (!texts[i])
            continue;
        FUZZ_CHECK(at < read.count && strcmp(read.items[at], texts[i]) == 0);
        at++;
    }
    FUZZ_CHECK(at == read.count);
    result_texts_free(&read);
    PQclear(result);
    buf_free(&text);
}

/* What no PostgreSQL prints: anything but a wild pointer will do. */
static void check_hostile(const char *text)
{
    struct db_texts read;
    size_t size = 0;
    PGresult *result = make_result(text);
    FUZZ_CHECK(result_texts(result, 0, 0, &read));
    for (size_t i = 0; i < read.count; i++)
        size += strlen(read.items[i]);
    FUZZ_CHECK(size <= strlen(text));
    result_texts_free(&read);
    PQclear(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    char *texts[MOST];
    size_t count = fuzz_below(&input, MOST);
    bool sized = fuzz_byte(&input) % 2;
    check_hostile(fuzz_text(&input, 4000));
    for (size_t i = 0; i < count; i++)
        texts[i] = fuzz_text_or_null(&input, 1000);
    check_encoding(texts, count, sized);
    check_decoding(texts, count);
    fuzz_free_all();
    return 0;
}
