/*
 * A growing buffer with a maximum and a sticky error: put as often as you
 * like, check once at the end. After a failed put (maximum crossed, or no
 * memory) every later put does nothing and buf_ok() stays false.
 *
 * The bytes always have a NUL behind them, which does not count: data is a C
 * string where no NUL was put. One owner; buf_free() ends it.
 */
#ifndef PGFLOW_BASE_BUF_H
#define PGFLOW_BASE_BUF_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
    char *data; /* never NULL: "" while nothing was put */
    size_t size;
    size_t capacity; /* 0: data is not allocated */
    size_t maximum;  /* size never exceeds this */
    bool failed;
};

/* No allocation. `maximum` in bytes. */
void buf_init(struct buf *buf, size_t maximum);

/* Frees the bytes; the buffer is as after buf_init. Takes a zeroed struct. */
void buf_free(struct buf *buf);

/* Empties it and clears the error; keeps the memory. */
void buf_clear(struct buf *buf);

/* True when no put failed. */
bool buf_ok(const struct buf *buf) MUST_CHECK;

void buf_put(struct buf *buf, const void *data, size_t size);
void buf_puts(struct buf *buf, const char *text);
void buf_putc(struct buf *buf, char c);
void buf_printf(struct buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);

/* JSON text in double quotes, escaped. The text must be UTF-8 (see
 * text_clean); NUL, control bytes and what is not
 * seen (unseen.h) are escapes. */
void buf_put_json_string(struct buf *buf, const char *text, size_t size);

/* Room for `size` more bytes, to be written by the caller (read(2) into it)
 * and then counted with buf_commit(). NULL when it failed. */
char *buf_reserve(struct buf *buf, size_t size) MUST_CHECK;
void buf_commit(struct buf *buf, size_t size);

/* Drops `size` bytes from the front. */
void buf_consume(struct buf *buf, size_t size);

/* Hands the bytes to the caller, who frees them with free(); the buffer is as
 * after buf_init. NULL when a put failed or there is no memory. `size` may be
 * NULL. */
char *buf_detach(struct buf *buf, size_t *size) MUST_CHECK;

#endif
