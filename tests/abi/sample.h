/*
 * A descriptor that passes every check, in writable memory: a test spoils one thing and
 * looks at the message. Three steps: list, scan (a map after it), report (after both).
 */
#ifndef PGFLOW_TESTS_ABI_SAMPLE_H
#define PGFLOW_TESTS_ABI_SAMPLE_H

#include "base/error.h"
#include "runner/descriptor.h"

struct sample {
    pgf_module module;
    pgf_step steps[3];
    pgf_options flow_options, step_options;
    const char *after_list[3]; /* one name and room for another */
    const char *after_both[3];
};

void sample_init(struct sample *sample);

/* Reads it as "f.so"; fails the test unless it is refused with exactly that text. */
void refuses_as(const void *symbol, const char *text);
#define refuses(sample, text) refuses_as(&(sample)->module, "f.so: " text)

/* Reads it as "f.so"; fails the test when it is refused. The caller frees it. */
struct descriptor *accepts(const void *symbol);

/* Memory whose last `size` bytes are those of `bytes`, followed by a page that cannot be
 * read. Never freed. */
const void *at_page_end(const void *bytes, size_t size);

#endif
