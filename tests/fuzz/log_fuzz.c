/*
 * Texts of third parties in a log line: no value forges a line, a field or a
 * terminal's control sequence, and a line of the json format is JSON.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "base/json_check.h"
#include "base/text.h"
#include "base/unseen.h"
#include "log/log.h"

#include <string.h>

static void render(struct buf *line, enum log_format format, const struct log_field *fields,
                   size_t count, const char *msg)
{
    buf_init(line, 1 << 20);
    log_render(line, format, false, 1700000000123456, LOG_LEVEL_WARN, "fuzz_event", msg, fields,
               count);
    FUZZ_CHECK(buf_ok(line) && line->size > 0 && line->data[line->size - 1] == '\n');
    FUZZ_CHECK(text_is_utf8(line->data, line->size));
}

/* Of one line: no byte below the blank, no DEL, nothing that turns or hides what is beside it. */
static void check_one_line(const struct buf *line)
{
    size_t bytes;
    for (size_t i = 0; i + 1 < line->size; i += bytes) {
        bytes = text_utf8_sequence(line->data + i, line->size - i);
        FUZZ_CHECK(!unseen_is(unseen_code_point(line->data + i, bytes)));
    }
    for (size_t i = 0; i + 1 < line->size; i++)
        FUZZ_CHECK((unsigned char)line->data[i] >= ' ' && line->data[i] != 0x7f);
}

/* The keys outside of quotes, as a reader of logfmt takes them apart. */
static size_t count_logfmt_keys(const struct buf *line)
{
    size_t keys = 0;
    bool quoted = false;
    for (size_t i = 0; i < line->size; i++) {
        if (quoted && line->data[i] == '\\')
            i++;
        else if (line->data[i] == '"')
            quoted = !quoted;
        else if (!quoted && line->data[i] == '=')
            keys++;
    }
    FUZZ_CHECK(!quoted);
    return keys;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct error error = {0};
    const char *msg = fuzz_text(&input, 300);
    const struct log_field fields[] = {
        LOG_FLOW(fuzz_text(&input, 300)),
        LOG_TASK(fuzz_uint32(&input)),
        LOG_ERROR(fuzz_rest(&input)),
        LOG_FIELD_TEXT("last", "x"),
    };
    struct buf line;

    render(&line, LOG_FORMAT_JSON, fields, 4, msg);
    check_one_line(&line);
    FUZZ_CHECK(json_check_text(line.data, line.size, &error));
    buf_free(&line);

    render(&line, LOG_FORMAT_LOGFMT, fields, 4, msg);
    check_one_line(&line);
    FUZZ_CHECK(count_logfmt_keys(&line) == 8);
    buf_free(&line);

    render(&line, LOG_FORMAT_PRETTY, fields, 4, msg);
    check_one_line(&line);
    buf_free(&line);
    fuzz_free_all();
    return 0;
}
