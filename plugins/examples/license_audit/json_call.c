/* SPDX-License-Identifier: Apache-2.0 */
#include "json_call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *allocate_or_die(size_t size)
{
    void *memory = malloc(size);
    if (memory == NULL) {
        fputs("license_audit: out of memory\n", stderr);
        abort();
    }
    return memory;
}

int32_t json_call_init(const pgf_host *host, void **state)
{
    cJSON_Hooks hooks = {allocate_or_die, free};
    (void)host;
    (void)state;
    cJSON_InitHooks(&hooks);
    return 0;
}

cJSON *call_input(const pgf_call *call)
{
    return cJSON_ParseWithLength(call->input.ptr, call->input.len);
}

cJSON *call_flow_input(const pgf_call *call)
{
    return cJSON_ParseWithLength(call->flow_input.ptr, call->flow_input.len);
}

int32_t call_fail(const pgf_call *call, int32_t result, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    call->set_error(call, text, strlen(text));
    return result;
}

int32_t call_give(const pgf_call *call, cJSON *result)
{
    char *text = cJSON_PrintUnformatted(result);
    int32_t over_limit = call->write(call, text, strlen(text));
    cJSON_free(text);
    cJSON_Delete(result);
    return over_limit ? PGF_PERMANENT : PGF_OK;
}

void call_log(const pgf_call *call, int32_t level, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    call->host->log(call->host, level, text, strlen(text));
}

const char *text_member(const cJSON *object, const char *name, const char *otherwise)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text != NULL ? text : otherwise;
}
