/*
 * Would hosts that carry exactly these modules start on this queue, and serve all that it holds or
 * may still get? By a snapshot alone. The verdict is that of `pgflow-host --check` against the
 * state of the snapshot: each module as pgflow.ensure_deployment takes it, in the order given, and
 * then pgflow.missing_coverage of the queue.
 */
#ifndef PGFLOW_CTL_PREFLIGHT_PREFLIGHT_H
#define PGFLOW_CTL_PREFLIGHT_PREFLIGHT_H

#include "ctl/preflight/finding.h"
#include "ctl/preflight/snapshot.h"
#include "registry/registry.h"

struct preflight {
    const struct snapshot *snapshot;
    const struct registry *registry; /* bound to the queue */
    const char *function;            /* whose hosts these will be */
    const char *adopt;               /* queues that may be adopted, separated by commas; NULL */
    bool beside_live;                /* live hosts count, too */
    struct findings findings;
};

enum preflight_verdict {
    PREFLIGHT_SAFE,
    PREFLIGHT_SAFE_BESIDE_LIVE,
    PREFLIGHT_NOT_SAFE,
    PREFLIGHT_VERDICTS,
};
extern const char *const preflight_words[PREFLIGHT_VERDICTS];

/* Fills the findings, which the caller frees. False: it cannot be told (ERROR_CONFIG), or no
 * memory. */
bool preflight_judge(struct preflight *preflight, enum preflight_verdict *verdict,
                     struct error *error) MUST_CHECK;

/* The compile half. */
bool preflight_compile(struct preflight *preflight, struct error *error) MUST_CHECK;
/* Whether the database would compile this stored flow anew, and lose its work. */
bool preflight_recompiles(const struct preflight *preflight, const char *flow);
/* Alias moves, servers that are lost, and what a verdict of now cannot know. */
void preflight_look_around(struct preflight *preflight);

#endif
