/*
 * The list of findings; see lint.h.
 */
#include "ctl/author/lint.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void lint_init(struct lint *lint)
{
    *lint = (struct lint){.count = 0};
    buf_init(&lint->texts, LIMIT_MIB);
}

void lint_free(struct lint *lint)
{
    buf_free(&lint->texts);
}

/* Names come from the file, and the file from somebody else; see plain.h. */
static void drop_controls(char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7F)
            *text = ' ';
        else if (c == 0xC2 && (unsigned char)text[1] < 0xA0)
            text[0] = text[1] = ' ';
    }
}

/* More than fit are dropped: the first ones tell what to do. */
void lint_add(struct lint *lint, const char *check, const char *remedy, const char *format, ...)
{
    char text[1024];
    char clean[1024];
    va_list values;
    if (lint->count == LINT_FINDINGS)
        return;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    size_t size = text_clean(clean, sizeof clean, text, strlen(text));
    drop_controls(clean);
    lint->findings[lint->count++] =
        (struct lint_finding){.check = check, .remedy = remedy, .text = lint->texts.size};
    buf_put(&lint->texts, clean, size + 1);
}

const char *lint_text(const struct lint *lint, size_t finding)
{
    return lint->texts.data + lint->findings[finding].text;
}
