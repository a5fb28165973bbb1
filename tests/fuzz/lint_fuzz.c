/*
 * Files given to pgflowctl lint: whatever the tables of an ELF file say, libelf and
 * what we make of its answers stay within the file, and a name of the file can be
 * shown on a terminal and in JSON.
 */
#include "fuzz.h"

#include "base/text.h"
#include "ctl/author/lint.h"
#include "module/elf_image.h"
#include "module/module_bytes.h"

#include <stdlib.h>
#include <string.h>

static void check_finding(const char *text, const char *remedy)
{
    FUZZ_CHECK(*text != '\0' && *remedy != '\0' && text_is_utf8(text, strlen(text)));
    for (; *text; text++)
        FUZZ_CHECK((unsigned char)*text >= 0x20 && *text != 0x7F);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Its own allocation: one byte behind it is a finding. */
    struct module_bytes bytes = {.data = malloc(size > 0 ? size : 1), .size = size};
    struct elf_image image;
    struct lint lint;
    struct error error = {0};
    FUZZ_CHECK(bytes.data != NULL);
    if (size > 0)
        memcpy(bytes.data, data, size);
    lint_init(&lint);
    if (elf_image_read(&image, bytes.data, bytes.size, &error) && lint_elf(&lint, &bytes, &error)) {
        FUZZ_CHECK(buf_ok(&lint.texts) && lint.count <= LINT_FINDINGS);
        for (size_t i = 0; i < lint.count; i++)
            check_finding(lint_text(&lint, i), lint.findings[i].remedy);
    }
    lint_free(&lint);
    free(bytes.data);
    return 0;
}
