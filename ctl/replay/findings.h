/*
 * What a replay found, by step: fields that differ, outcomes, time and memory. A field is a place
 * in the output (json_diff.h), or the outcome.
 *
 * Data flow: each replayed task is judged once all its answers are there. A difference between the
 * record and NEW counts for its field. With OLD, a field in which OLD differs from the record, or
 * two runs of OLD from each other, is unstable; what NEW does to it, or to what is below it, is no
 * finding. Which fields are unstable is known at the end, so a task keeps the fields it differs in.
 */
#ifndef PGFLOW_CTL_REPLAY_FINDINGS_H
#define PGFLOW_CTL_REPLAY_FINDINGS_H

#include "base/error.h"
#include "ctl/replay/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum build { NEW_BUILD, OLD_BUILD, OLD_AGAIN, BUILDS };

/* How one run of a handler ended. */
struct ending {
    bool here, completed, died;
    uint64_t us, rss_kib;
    char *text; /* output or error; owned */
    size_t size;
};

struct replayed {
    size_t step; /* in the plan */
    char run_id[LIMIT_UUID_TEXT + 1];
    int32_t task_index;
    bool was_completed;
    char *output; /* recorded; owned */
    struct ending endings[BUILDS];
};

enum { FIELDS_MOST = 256, SHOWN_MOST = 200 };

struct field {
    char *name; /* "": the whole output; "(outcome)" */
    bool unstable;
    size_t tasks;
    char *path, *before, *after; /* of the first task; cut for people */
    char run_id[LIMIT_UUID_TEXT + 1];
    int32_t task_index;
};

struct marks; /* the fields in which one task differs */

struct step_findings {
    size_t tasks, died, unreadable;
    struct field fields[FIELDS_MOST];
    size_t field_count;
    struct marks *marks;
    uint64_t *us[2]; /* of NEW, of OLD */
    size_t us_count[2], us_room[2];
    uint64_t rss_kib[2];
};

struct findings {
    const struct plan *plan;
    bool has_baseline;
    char **ignored; /* patterns */
    size_t ignored_count;
    struct step_findings *steps;
};

bool findings_open(struct findings *findings, const struct plan *plan, bool has_baseline,
                   const char *ignored, struct error *error) MUST_CHECK;
void findings_close(struct findings *findings);

bool findings_judge(struct findings *findings, const struct replayed *task,
                    struct error *error) MUST_CHECK;

/* ---- At the end ---- */

bool findings_is_regression(const struct step_findings *step, const struct field *field);
size_t findings_differing(const struct step_findings *step); /* tasks */
/* The share of the times: 50, 95. Microseconds. */
uint64_t findings_time(struct step_findings *step, size_t build, unsigned percent);
bool findings_is_slower(struct step_findings *step);
bool findings_is_larger(const struct step_findings *step);
bool findings_step_differs(struct step_findings *step);

#endif
