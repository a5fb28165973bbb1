/*
 * The growing buffer: doubling, never beyond its maximum.
 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an empty buffer points to: never written, because capacity is 0. */
static char empty[1];

void buf_init(struct buf *buf, size_t maximum)
{
    *buf = (struct buf){.data = empty, .maximum = maximum};
}

void buf_free(struct buf *buf)
{
    if (buf->capacity)
        free(buf->data);
    buf_init(buf, buf->maximum);
}

void buf_clear(struct buf *buf)
{
    buf->size = 0;
    buf->failed = false;
    if (buf->capacity)
        buf->data[0] = '\0';
}

bool buf_ok(const struct buf *buf)
{
    return !buf->failed;
}

char *buf_reserve(struct buf *buf, size_t size)
{
    if (buf->failed || size > buf->maximum - buf->size) {
        buf->failed = true;
        return NULL;
    }
    size_t need = buf->size + size + 1;
    if (need > buf->capacity) {
        size_t capacity = buf->capacity ? buf->capacity : 64;
        while (capacity < need)
            capacity = capacity > buf->maximum / 2 ? buf->maximum + 1 : capacity * 2;
        char *data = realloc(buf->capacity ? buf->data : NULL, capacity);
        if (data == NULL) {
            buf->failed = true;
            return NULL;
        }
        buf->data = data;
        buf->capacity = capacity;
        buf->data[buf->size] = '\0';
    }
    return buf->data + buf->size;
}

void buf_commit(struct buf *buf, size_t size)
{
    if (size == 0)
        return;
    buf->size += size;
    buf->data[buf->size] = '\0';
}

void buf_put(struct buf *buf, const void *data, size_t size)
{
    char *to = size ? buf_reserve(buf, size) : NULL;
    if (to == NULL)
        return;
    memcpy(to, data, size);
    buf_commit(buf, size);
}

void buf_puts(struct buf *buf, const char *text)
{
    buf_put(buf, text, strlen(text));
}

void buf_putc(struct buf *buf, char c)
{
    buf_put(buf, &c, 1);
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *to = size > 0 ? buf_reserve(buf, (size_t)size) : NULL;
    if (to != NULL) {
        (void)vsnprintf(to, (size_t)size + 1, format, again);
        buf_commit(buf, (size_t)size);
    } else if (size < 0) {
        buf->failed = true;
    }
    va_end(again);
}

void buf_consume(struct buf *buf, size_t size)
{
    if (size == 0)
        return;
    memmove(buf->data, buf->data + size, buf->size - size + 1);
    buf->size -= size;
}

char *buf_detach(struct buf *buf, size_t *size)
{
    char *data = NULL;
    if (buf_ok(buf))
        data = buf->capacity ? buf->data : calloc(1, 1);
    if (data == NULL) {
        buf_free(buf);
        return NULL;
    }
    if (size != NULL)
        *size = buf->size;
    buf_init(buf, buf->maximum);
    return data;
}
