/*
 * What the fuzzers share: a check whose failure is a finding, and a reader that
 * takes an input apart. Each fuzzer feeds one border of the host with hostile
 * bytes; besides "no crash, no leak" it checks what must hold of every answer.
 */
#ifndef PGFLOW_TESTS_FUZZ_FUZZ_H
#define PGFLOW_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libFuzzer calls it; 0 always. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Once, before the first input. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Unlike assert it is there in every build. */
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fuzz_fail(__FILE__, __LINE__, #condition);                                             \
    } while (0)
_Noreturn void fuzz_fail(const char *file, int line, const char *condition);

/* An input that is taken from the front; behind its end are zeros. */
struct fuzz_input {
    const uint8_t *data;
    size_t size;
};

uint8_t fuzz_byte(struct fuzz_input *input);
uint32_t fuzz_uint32(struct fuzz_input *input);
/* A number below `limit`, which is at most 65536. */
size_t fuzz_below(struct fuzz_input *input, size_t limit);

/* At most `most` bytes (65535 at most) up to a NUL, which is dropped. A copy
 * with a NUL behind it, alone in its allocation; freed by fuzz_free_all. */
char *fuzz_text(struct fuzz_input *input, size_t most);
/* The same, and NULL for some inputs. */
char *fuzz_text_or_null(struct fuzz_input *input, size_t most);
/* All that is left, likewise. */
char *fuzz_rest(struct fuzz_input *input);
void fuzz_free_all(void);

/* A file of the process's own in memory with these bytes; its path stays the
 * same, and its contents until the next call. */
const char *fuzz_file(const void *data, size_t size);

#endif
