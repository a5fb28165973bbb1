/*
 * The options by which runs are found, as the filter of pgflow.find_runs, and the walk through
 * what it finds.
 */
#ifndef PGFLOW_CTL_RUNS_RUN_FILTER_H
#define PGFLOW_CTL_RUNS_RUN_FILTER_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct db_rows;
struct invocation;

/* For the options of a command. */
#define RUN_FILTER_OPTIONS                                                                         \
    {"flow", "FLOW", "only runs of this concrete flow or alias"},                                  \
        {"status", "started|completed|failed|cancelled", "only these; several with commas"},       \
        {"failed", NULL, "the same as --status failed"},                                           \
        {"step", "STEP", "only where a step of this name failed"},                                 \
        {"error", "REGEX", "only where the error of the failed step matches"},                     \
        {"since", "AGE|TIME",                                                                      \
         "only since then ('1d', '2026-12-01 03:00'): failed runs by their end, others by start"}, \
        {"until", "AGE|TIME", "only until then"},                                                  \
        {"build", "ID", "only where this build (build-id or sha256, 8 characters) had the task"},  \
    {                                                                                              \
        "host", "HOST", "only where a worker of this machine had the task"                         \
    }

/* What the options ask for, as JSON in the empty buffer. `otherwise`: the statuses when none is
 * given, as --status has them; NULL: all. Further members: ", \"key\": value" or "".
 * ERROR_USAGE for a status that is none, and for --failed beside --status. */
bool run_filter_read(const struct invocation *invocation, const char *otherwise,
                     const char *members, struct buf *filter, struct error *error) MUST_CHECK;

/* Adds the present moment as "until", unless --until is given: what is counted now and then acted
 * on are the same runs. */
bool run_filter_put_moment(const struct invocation *invocation, struct buf *members,
                           struct error *error) MUST_CHECK;

/* Whether one of the options is given. */
bool run_filter_is_given(const struct invocation *invocation);

/* Whether it asks for failed or cancelled runs alone, whose `at` is their end. */
bool run_filter_is_by_end(const struct invocation *invocation);

/* How many runs the filter asks for. */
bool run_filter_count(const struct invocation *invocation, const char *filter, int64_t *count,
                      struct error *error) MUST_CHECK;

/*
 * Asks page by page. The statement gets $1 the filter, $2 and $3 the place (at, run), $4 the size
 * of a page, and then `values`; its first two columns are run and at of the runs that it walked
 * over, in order. `take` gets each page, and owns it.
 */
struct run_walk {
    const char *sql;
    const char *filter;
    const char *const *values; /* at most RUN_WALK_VALUES */
    size_t count;
    int64_t most; /* runs, in all */
    int page;     /* runs at a time */
    bool (*take)(void *ctx, struct db_rows *page, struct error *error);
    void *ctx;
};
enum { RUN_WALK_VALUES = 4 };
bool run_walk(const struct invocation *invocation, const struct run_walk *walk,
              struct error *error) MUST_CHECK;

#endif
