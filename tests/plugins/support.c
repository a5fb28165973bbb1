/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The text behind `"name":`, to the end of the input. */
static pgf_str find_param(const pgf_call *call, const char *name)
{
    pgf_str in = call->flow_input.len > 0 ? call->flow_input : call->input;
    char key[64];
    int key_len = snprintf(key, sizeof key, "\"%s\":", name);
    if (in.len == 0 || key_len < 0 || (size_t)key_len >= sizeof key)
        return (pgf_str){NULL, 0};
    const char *at = memmem(in.ptr, in.len, key, (size_t)key_len);
    if (at == NULL)
        return (pgf_str){NULL, 0};
    at += key_len;
    while (at < in.ptr + in.len && *at == ' ')
        at++;
    return (pgf_str){at, (size_t)(in.ptr + in.len - at)};
}

long param_number(const pgf_call *call, const char *name, long otherwise)
{
    pgf_str value = find_param(call, name);
    char digits[24] = {0};
    if (value.len == 0)
        return otherwise;
    memcpy(digits, value.ptr, value.len < sizeof digits ? value.len : sizeof digits - 1);
    return strtol(digits, NULL, 10);
}

bool param_text(const pgf_call *call, const char *name, char *out, size_t size)
{
    pgf_str value = find_param(call, name);
    if (value.len < 2 || value.ptr[0] != '"')
        return false;
    const char *end = memchr(value.ptr + 1, '"', value.len - 1);
    if (end == NULL || (size_t)(end - value.ptr - 1) >= size)
        return false;
    memcpy(out, value.ptr + 1, (size_t)(end - value.ptr - 1));
    out[end - value.ptr - 1] = '\0';
    return true;
}

bool put(const pgf_call *call, const char *text)
{
    return call->write(call, text, strlen(text)) == 0;
}

bool put_format(const pgf_call *call, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return len >= 0 && (size_t)len < sizeof text && call->write(call, text, (size_t)len) == 0;
}

int32_t echo_input(void *state, const pgf_call *call)
{
    (void)state;
    pgf_str in = call->flow_input.len > 0 ? call->flow_input : call->input;
    return call->write(call, in.ptr, in.len) == 0 ? PGF_OK : PGF_PERMANENT;
}

static void append_line(const pgf_call *call, const char *path)
{
    char line[512];
    int len = snprintf(line, sizeof line, "%.*s %.*s %.*s %d %u %d\n", (int)call->flow_slug.len,
                       call->flow_slug.ptr, (int)call->step_slug.len, call->step_slug.ptr,
                       (int)call->run_id.len, call->run_id.ptr, (int)call->task_index,
                       (unsigned)call->attempt, (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    /* One write of less than a page: lines of several runners do not mix. */
    if (write(fd, line, (size_t)len) != len)
        perror(path);
    (void)close(fd);
}

void work_as_asked(const pgf_call *call)
{
    char path[1024];
    long ms = param_number(call, "ms", 0);
    struct timespec pause = {ms / 1000, (ms % 1000) * 1000000};
    while (ms > 0 && nanosleep(&pause, &pause) != 0)
        continue;
    if (param_text(call, "file", path, sizeof path))
        append_line(call, path);
}

int32_t moody_init(const char *flow_slug)
{
    const char *path = getenv("MOODY_FILE");
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    if (file == NULL)
        return 0;
    char named[128] = {0};
    size_t size = fread(named, 1, sizeof named - 1, file);
    (void)fclose(file);
    if (size == 0 || strcmp(named, flow_slug) == 0)
        abort();
    return 0;
}
