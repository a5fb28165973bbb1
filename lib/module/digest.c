/*
 * SHA-256; see digest.h.
 */
#include "module/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

void digest_put_hex(const unsigned char *bytes, size_t size, char *hex)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        *hex++ = digits[bytes[i] >> 4];
        *hex++ = digits[bytes[i] & 15];
    }
    *hex = '\0';
}

bool digest_of(const void *data, size_t size, char hex[DIGEST_HEX + 1], struct error *error)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;

    if (EVP_Digest(data, size, digest, &length, EVP_sha256(), NULL) != 1)
        return error_set(error, ERROR_INTERNAL, "libcrypto cannot compute SHA-256");
    digest_put_hex(digest, DIGEST_HEX / 2, hex);
    return true;
}

const char *digest_library_version(void)
{
    return OpenSSL_version(OPENSSL_VERSION_STRING);
}
