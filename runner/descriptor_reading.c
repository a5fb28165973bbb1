/* Messages and copies for the checks of a descriptor. What is shown of the module is
 * escaped and cut: it may be anything. */
#include "runner/descriptor_reading.h"

#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_OF_TEXT = 80 };

bool reading_refuse(struct reading *reading, const char *field, const char *found,
                    const char *expected, const char *fix)
{
    const char *file = reading->file != NULL ? reading->file : "";
    return error_set(reading->error, ERROR_CONFIG, "%s%s%s is %s; expected %s; %s", file,
                     file[0] != '\0' ? ": " : "", field, found, expected, fix);
}

const char *field_of_step(struct reading *reading, uint32_t step, const char *field)
{
    const char *slug = reading->steps != NULL ? reading->steps[step].slug : NULL;
    int len =
        snprintf(reading->field, sizeof reading->field, "steps[%u].%s", (unsigned)step, field);
    if (slug != NULL && len > 0 && (size_t)len < sizeof reading->field)
        snprintf(reading->field + len, sizeof reading->field - (size_t)len, " (step '%s')", slug);
    return reading->field;
}

const char *found_format(struct reading *reading, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reading->found, sizeof reading->found, format, arguments);
    va_end(arguments);
    return reading->found;
}

const char *found_text(struct reading *reading, const char *text, size_t size)
{
    static const char hex[] = "0123456789abcdef";
    char *at = reading->found;
    size_t shown = 0;
    *at++ = '"';
    while (shown < size && shown < SHOWN_OF_TEXT) {
        size_t step = text_utf8_sequence(text + shown, size - shown);
        unsigned char c = (unsigned char)text[shown];
        if (step == 0 || c < 0x20 || c == 0x7f || c == '"' || c == '\\') {
            const char escape[] = {'\\', 'x', hex[c >> 4], hex[c & 15]};
            memcpy(at, escape, sizeof escape);
            at += sizeof escape;
            step = 1;
        } else {
            memcpy(at, text + shown, step);
            at += step;
        }
        shown += step;
    }
    const char *end = shown < size ? "\"..." : "\"";
    memcpy(at, end, strlen(end) + 1);
    return reading->found;
}

static bool refuse_memory(struct reading *reading, const char *field, enum probe_result result,
                          uintptr_t address)
{
    if (result == PROBE_REFUSED)
        return error_set(reading->error, ERROR_CONFIG,
                         "cannot examine the module's memory: process_vm_readv: %s; allow this "
                         "system call in the sandbox around the host",
                         strerror(errno));
    if (address == 0)
        return reading_refuse(reading, field, "NULL", "a pointer", "set it");
    return reading_refuse(
        reading, field,
        found_format(reading, "at 0x%llx, which cannot be read", (unsigned long long)address),
        "a pointer into the module's own data",
        "rebuild the module from sources that initialise it");
}

bool reading_copy(struct reading *reading, const char *field, uintptr_t address, void *out,
                  size_t size)
{
    enum probe_result result = probe_bytes(address, out, size);
    return result == PROBE_OK || refuse_memory(reading, field, result, address);
}

static bool refuse_text(struct reading *reading, const char *field, enum probe_result result,
                        uintptr_t address, size_t read, size_t limit)
{
    char expected[64];
    if (result == PROBE_REFUSED || read == 0)
        return refuse_memory(reading, field, result, address);
    snprintf(expected, sizeof expected, "NUL-terminated text of at most %zu bytes", limit);
    if (result == PROBE_TOO_LONG)
        return reading_refuse(reading, field, found_format(reading, "longer than %zu bytes", limit),
                              expected, "shorten it, or terminate it with a NUL");
    return reading_refuse(reading, field,
                          found_format(reading,
                                       "%zu bytes without a NUL up to memory that cannot "
                                       "be read",
                                       read),
                          expected, "terminate it with a NUL");
}

bool reading_peek(struct reading *reading, const char *field, const char *foreign, size_t limit,
                  size_t *size)
{
    enum probe_result result = probe_text((uintptr_t)foreign, reading->text, limit, size);
    return result == PROBE_OK ||
           refuse_text(reading, field, result, (uintptr_t)foreign, *size, limit);
}

bool reading_text(struct reading *reading, const char *field, const char *foreign, size_t limit,
                  const char **out)
{
    size_t size = 0;
    if (!reading_peek(reading, field, foreign, limit, &size))
        return false;
    char *copy = reading_alloc(reading, size + 1);
    if (copy == NULL)
        return false;
    memcpy(copy, reading->text, size);
    *out = copy;
    return true;
}

void *reading_alloc(struct reading *reading, size_t size)
{
    struct owned_descriptor *owner = (struct owned_descriptor *)reading->out;
    struct block *block = calloc(1, sizeof *block + size);
    if (block == NULL) {
        (void)error_out_of_memory(reading->error);
        return NULL;
    }
    SLIST_INSERT_HEAD(&owner->blocks, block, link);
    return block->data;
}

const char *descriptor_queue_mode_name(uint32_t mode)
{
    static const char *const names[] = {"flow", "step", "routed"};
    return mode < sizeof names / sizeof names[0] ? names[mode] : "unknown";
}
