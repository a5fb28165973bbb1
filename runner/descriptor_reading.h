/*
 * What the checks of a descriptor share: the state of one descriptor_read(),
 * its memory and its messages. Internal to runner/descriptor*.c.
 */
#ifndef PGFLOW_RUNNER_DESCRIPTOR_READING_H
#define PGFLOW_RUNNER_DESCRIPTOR_READING_H

#include "runner/descriptor.h"
#include "runner/descriptor_probe.h"
#include <stddef.h>
#include <sys/queue.h>

/* The sizes of ABI 1.0, whatever is appended later. */
#define MODULE_SIZE_1_0 (offsetof(pgf_module, extension) + sizeof(void *))
#define STEP_SIZE_1_0 (offsetof(pgf_step, run) + sizeof(void *))
#define OPTIONS_SIZE_1_0 (offsetof(pgf_options, start_delay_s) + sizeof(pgf_int))

/* pgf_module.flags are known since. */
#define MINOR_OF_FLAGS 1u

/* A slug in lower case and the step that has it; sorted by name. */
struct slug_entry {
    const char *lower;
    uint32_t step;
};

struct block {
    SLIST_ENTRY(block) link;
    max_align_t data[];
};

struct owned_descriptor {
    struct descriptor descriptor; /* first: the public part */
    SLIST_HEAD(, block) blocks;
};

struct reading {
    const char *file;
    struct error *error;
    uintptr_t symbol;
    pgf_module module; /* copied; what it points to is still foreign */
    pgf_step *raw;     /* n_steps of them, likewise */
    struct descriptor *out;
    struct descriptor_step *steps; /* out->steps */
    struct slug_entry *by_name;
    char field[320]; /* of the message in the making */
    char found[640];
    char text[LIMIT_DESCRIPTOR_PATTERN + 1];
};

/* Zeroed memory that lives as long as the descriptor. NULL: error set. */
/* Memory that lives as long as the descriptor. */
void *reading_alloc(struct reading *reading, size_t size) MUST_CHECK;

/* "<file>: <field> is <found>; expected <expected>; <fix>". Always false. */
bool reading_refuse(struct reading *reading, const char *field, const char *found,
                    const char *expected, const char *fix);

/* Parts of messages, each in its own buffer of the reading, until its next use. */
const char *field_of_step(struct reading *reading, uint32_t step, const char *field);
const char *found_text(struct reading *reading, const char *text, size_t size);
const char *found_format(struct reading *reading, const char *format, ...) PRINTF_LIKE(2, 3);

/* Copies fixed-size data; an unreadable pointer is refused as the value of `field`. */
bool reading_copy(struct reading *reading, const char *field, uintptr_t address, void *out,
                  size_t size) MUST_CHECK;

/* Reads text of at most `limit` bytes (at most a pattern's) into reading->text, until the
 * next text is read. */
bool reading_peek(struct reading *reading, const char *field, const char *foreign, size_t limit,
                  size_t *size) MUST_CHECK;

/* The same, and *out is a copy that lives as long as the descriptor. */
bool reading_text(struct reading *reading, const char *field, const char *foreign, size_t limit,
                  const char **out) MUST_CHECK;

/*
 * The checks, in the order in which they run; each goes over the whole module.
 */

/* descriptor_fixed.c: numbers, sizes, and the copies of all fixed-size parts */
bool check_magic(struct reading *reading) MUST_CHECK;
bool check_major(struct reading *reading) MUST_CHECK;
bool check_struct_size(struct reading *reading) MUST_CHECK;
bool check_needs_minor(struct reading *reading) MUST_CHECK;
bool check_step_size(struct reading *reading) MUST_CHECK;
bool check_counts(struct reading *reading) MUST_CHECK;
bool copy_steps(struct reading *reading) MUST_CHECK;
bool copy_options(struct reading *reading) MUST_CHECK;
bool check_kinds_modes_flags(struct reading *reading) MUST_CHECK;
bool check_reserved(struct reading *reading) MUST_CHECK;
/* descriptor_names.c */
bool check_slugs(struct reading *reading) MUST_CHECK;
bool check_alias(struct reading *reading) MUST_CHECK;
bool check_unique_slugs(struct reading *reading) MUST_CHECK;
bool check_dependencies(struct reading *reading) MUST_CHECK;
bool check_maps(struct reading *reading) MUST_CHECK;
/* descriptor_rules.c */
bool check_option_ranges(struct reading *reading) MUST_CHECK;
bool check_when_words(struct reading *reading) MUST_CHECK;
bool check_patterns(struct reading *reading) MUST_CHECK;
bool check_other_text(struct reading *reading) MUST_CHECK;
bool check_routes(struct reading *reading) MUST_CHECK;
bool check_queue_names(struct reading *reading) MUST_CHECK;
bool check_handlers(struct reading *reading) MUST_CHECK;

#endif
