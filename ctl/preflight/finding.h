/*
 * What preflight found, in the order found: problems, which make the answer no, notes and caveats.
 */
#ifndef PGFLOW_CTL_PREFLIGHT_FINDING_H
#define PGFLOW_CTL_PREFLIGHT_FINDING_H

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>

struct snapshot_need;

enum finding_class { FINDING_PROBLEM, FINDING_NOTE, FINDING_CAVEAT };

enum finding_kind {
    /* problems */
    FOUND_MISSING_PAIR,
    FOUND_DIFFERENCE,
    FOUND_NAME_TAKEN,
    FOUND_BAD_QUEUE,
    /* notes */
    FOUND_BESIDE, /* a missing pair that only live hosts have; with --beside-live */
    FOUND_RECOMPILED,
    FOUND_NO_CONTRACT,
    FOUND_OPTION_DRIFT,
    FOUND_ACTIVATION,
    FOUND_LOST_SERVER,
    FOUND_UNSERVED_QUEUE,
    /* caveats */
    FOUND_LATER_START,
    FOUND_HOSTS_WITHOUT_PAIRS,
    FINDING_KINDS,
};

struct finding {
    enum finding_kind kind;
    char flow[LIMIT_SLUG + 1], step[LIMIT_SLUG + 1], queue[LIMIT_SLUG + 1]; /* "": none */
    char *text;                                                             /* what is the matter */
    char *remedy;                                                           /* NULL: none */
    const struct snapshot_need *need;
};

struct findings {
    struct finding *items;
    size_t count, room;
    bool failed; /* no memory */
};

const char *finding_word(enum finding_kind kind);
enum finding_class finding_class(enum finding_kind kind);

/* A new one; names may be NULL. The two below print the texts of the last one. */
void finding_add(struct findings *findings, enum finding_kind kind, const char *flow,
                 const char *step, const char *queue);
void finding_say(struct findings *findings, const char *format, ...) PRINTF_LIKE(2, 3);
void finding_remedy(struct findings *findings, const char *format, ...) PRINTF_LIKE(2, 3);

size_t findings_of(const struct findings *findings, enum finding_class which);
size_t findings_of_kind(const struct findings *findings, enum finding_kind kind);
void findings_free(struct findings *findings);

#endif
