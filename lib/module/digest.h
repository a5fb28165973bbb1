/*
 * SHA-256 as 64 hex digits, from libcrypto.
 */
#ifndef PGFLOW_MODULE_DIGEST_H
#define PGFLOW_MODULE_DIGEST_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { DIGEST_HEX = 64 };

bool digest_of(const void *data, size_t size, char hex[DIGEST_HEX + 1],
               struct error *error) MUST_CHECK;

/* `size` bytes as lower-case hex digits; `hex` has room for 2 * size + 1. */
void digest_put_hex(const unsigned char *bytes, size_t size, char *hex);

/* Of the libcrypto that is loaded, for --version. */
const char *digest_library_version(void);

#endif
