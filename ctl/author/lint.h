/*
 * What can be wrong with the file of a flow module though it may load: found by
 * reading it, without running any of its code.
 */
#ifndef PGFLOW_CTL_AUTHOR_LINT_H
#define PGFLOW_CTL_AUTHOR_LINT_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct module_bytes;

enum { LINT_FINDINGS = 64 };

struct lint_finding {
    const char *check;  /* a word that scripts may rely on */
    const char *remedy; /* static text */
    size_t text;        /* where its text begins in lint.texts, NUL-terminated */
};

/* Zeroed memory but for the buffer; lint_free ends it. */
struct lint {
    struct lint_finding findings[LINT_FINDINGS];
    size_t count;
    struct buf texts;
};

void lint_init(struct lint *lint);
void lint_free(struct lint *lint);

void lint_add(struct lint *lint, const char *check, const char *remedy, const char *format, ...)
    PRINTF_LIKE(4, 5);
const char *lint_text(const struct lint *lint, size_t finding);

/* Exports, unique symbols, where the descriptor lies, text relocations, search
 * paths, read-only tables, binding, build-id, executable stack. False: the file
 * has no tables to look at. */
bool lint_elf(struct lint *lint, const struct module_bytes *bytes, struct error *error) MUST_CHECK;

/* Names that no library of the file defines, and libraries that are missing: asks
 * the dynamic loader of this system, which maps the file and starts nothing. */
bool lint_names(struct lint *lint, const char *real_path, struct error *error) MUST_CHECK;

#endif
