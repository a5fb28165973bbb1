#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TEXTS = 4096 };

static char *texts[TEXTS];
static size_t text_count;

void fuzz_fail(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

uint8_t fuzz_byte(struct fuzz_input *input)
{
    if (input->size == 0)
        return 0;
    input->size--;
    return *input->data++;
}

uint32_t fuzz_uint32(struct fuzz_input *input)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value = value << 8 | fuzz_byte(input);
    return value;
}

size_t fuzz_below(struct fuzz_input *input, size_t limit)
{
    size_t value = fuzz_byte(input);
    if (limit > 256)
        value = value << 8 | fuzz_byte(input);
    return value % limit;
}

static char *keep(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    FUZZ_CHECK(text != NULL && text_count < TEXTS);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    texts[text_count++] = text;
    return text;
}

char *fuzz_text(struct fuzz_input *input, size_t most)
{
    size_t room = input->size < most ? input->size : most;
    const uint8_t *end = room > 0 ? memchr(input->data, '\0', room) : NULL;
    size_t size = end ? (size_t)(end - input->data) : room;
    char *text = keep(input->data, size);
    input->data += size + (end != NULL);
    input->size -= size + (end != NULL);
    return text;
}

char *fuzz_text_or_null(struct fuzz_input *input, size_t most)
{
    return fuzz_byte(input) % 4 == 0 ? NULL : fuzz_text(input, most);
}

char *fuzz_rest(struct fuzz_input *input)
{
    char *text = keep(input->data, input->size);
    input->size = 0;
    return text;
}

void fuzz_free_all(void)
{
    while (text_count > 0)
        free(texts[--text_count]);
}

const char *fuzz_file(const void *data, size_t size)
{
    static char path[64];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    FUZZ_CHECK(fd >= 0 && ftruncate(fd, 0) == 0);
    FUZZ_CHECK(size == 0 || pwrite(fd, data, size, 0) == (ssize_t)size);
    return path;
}
