/* SPDX-License-Identifier: Apache-2.0 */
#include "call_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int32_t call_error(const pgf_call *call, int32_t result, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    call->set_error(call, text, strlen(text));
    return result;
}
