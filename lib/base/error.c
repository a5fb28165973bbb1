/*
 * Filling and wrapping struct error. Works when out of memory: everything is
 * on the stack.
 */
#include "base/error.h"

#include "base/secrets.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Two steps, because the values may point into error->text. What it quotes may be a credential
 * that somebody gave in the wrong place. */
static void set_text(struct error *error, char *text)
{
    secrets_hide(text);
    size_t size = text_utf8_prefix(text, strlen(text), sizeof error->text - 1);
    memcpy(error->text, text, size);
    error->text[size] = '\0';
}

bool error_set(struct error *error, int code, const char *format, ...)
{
    if (error == NULL)
        return false;
    char text[LIMIT_ERROR_TEXT + 4];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error->code = code;
    set_text(error, text);
    return false;
}

bool error_wrap(struct error *error, const char *format, ...)
{
    if (error == NULL)
        return false;
    char text[2 * LIMIT_ERROR_TEXT + 4];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, LIMIT_ERROR_TEXT, format, args);
    va_end(args);
    size_t used = length < 0 ? 0 : strlen(text);
    (void)snprintf(text + used, sizeof text - used, ": %s", error->text);
    set_text(error, text);
    return false;
}

bool error_out_of_memory(struct error *error)
{
    return error_set(error, ERROR_INTERNAL, "out of memory");
}

void error_clear(struct error *error)
{
    error->code = ERROR_NONE;
    error->text[0] = '\0';
}
