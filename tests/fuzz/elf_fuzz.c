/*
 * The file of a module, read before anything maps it: whatever the reader hands
 * out lies within the file.
 */
#include "fuzz.h"

#include "module/elf_image.h"

#include <stdlib.h>
#include <string.h>

static void check_within(const struct elf_image *image, const char *text)
{
    const char *begin = (const char *)image->data;
    FUZZ_CHECK(text >= begin && text < begin + image->size);
    FUZZ_CHECK(text + strlen(text) < begin + image->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error = {0};
    struct elf_image image;
    /* Its own allocation, aligned as a mapping is: one byte behind it is a finding. */
    void *bytes = malloc(size > 0 ? size : 1);
    FUZZ_CHECK(bytes != NULL);
    if (size > 0)
        memcpy(bytes, data, size);
    if (elf_image_read(&image, bytes, size, &error)) {
        FUZZ_CHECK(image.needed_count <= ELF_NEEDED);
        for (size_t i = 0; i < image.needed_count; i++)
            check_within(&image, image.needed[i]);
        const char *texts[] = {image.rpath, image.runpath, image.soname};
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
            if (texts[i])
                check_within(&image, texts[i]);
        FUZZ_CHECK(strspn(image.build_id, "0123456789abcdef") == strlen(image.build_id));
    } else {
        FUZZ_CHECK(error.code == ERROR_CONFIG && error.text[0] != '\0');
    }
    free(bytes);
    return 0;
}
