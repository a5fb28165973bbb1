/*
 * The list of findings; see lint.h.
 */
#include "ctl/lint.h"

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

/* More than fit are dropped: the first ones tell what to do. */
void lint_add(struct lint *lint, const char *check, const char *remedy, const char *format, ...)
{
    char text[1024];
    va_list values;
    if (lint->count == LINT_FINDINGS)
        return;
    va_start(values, format);
    (void)vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    lint->findings[lint->count++] =
        (struct lint_finding){.check = check, .remedy = remedy, .text = lint->texts.size};
    buf_put(&lint->texts, text, strlen(text) + 1);
}

const char *lint_text(const struct lint *lint, size_t finding)
{
    return lint->texts.data + lint->findings[finding].text;
}
