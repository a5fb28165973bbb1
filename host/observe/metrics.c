#include "observe/metrics.h"

#include <stdlib.h>

#include "base/clock.h"
#include "observe/exposition.h"

enum { TASK_BOUNDS = 14, CALL_BOUNDS = 13, MOST_BOUNDS = 14 };

/* Upper bounds, in nanoseconds, and as they stand in the label. */
struct bound {
    uint64_t ns;
    const char *le;
};

/* From a handler that does next to nothing to one that runs for an hour. */
static const struct bound task_bounds[TASK_BOUNDS] = {
    {NS_PER_MS, "0.001"},
    {5 * NS_PER_MS, "0.005"},
    {10 * NS_PER_MS, "0.01"},
    {50 * NS_PER_MS, "0.05"},
    {100 * NS_PER_MS, "0.1"},
    {500 * NS_PER_MS, "0.5"},
    {NS_PER_S, "1"},
    {5 * NS_PER_S, "5"},
    {10 * NS_PER_S, "10"},
    {30 * NS_PER_S, "30"},
    {60 * NS_PER_S, "60"},
    {300 * NS_PER_S, "300"},
    {UINT64_C(1800) * NS_PER_S, "1800"},
    {UINT64_C(3600) * NS_PER_S, "3600"},
};

/* From a database on this machine to one at its deadline. */
static const struct bound call_bounds[CALL_BOUNDS] = {
    {250 * NS_PER_US, "0.00025"},
    {500 * NS_PER_US, "0.0005"},
    {NS_PER_MS, "0.001"},
    {2500 * NS_PER_US, "0.0025"},
    {5 * NS_PER_MS, "0.005"},
    {10 * NS_PER_MS, "0.01"},
    {25 * NS_PER_MS, "0.025"},
    {50 * NS_PER_MS, "0.05"},
    {100 * NS_PER_MS, "0.1"},
    {500 * NS_PER_MS, "0.5"},
    {NS_PER_S, "1"},
    {5 * NS_PER_S, "5"},
    {30 * NS_PER_S, "30"},
};

static const char *const outcome_names[METRICS_OUTCOMES] = {
    [METRICS_COMPLETED] = "completed", [METRICS_RETRYING] = "retrying",
    [METRICS_FAILED] = "failed",       [METRICS_SKIPPED] = "skipped",
    [METRICS_REFUSED] = "refused",     [METRICS_AGAIN] = "again",
    [METRICS_LATE] = "late",           [METRICS_GONE] = "gone",
    [METRICS_RELEASED] = "released",   [METRICS_DROPPED] = "dropped"};
static const char *const message_names[METRICS_MESSAGES] = {
    [METRICS_MESSAGE_STARTED] = "started", [METRICS_MESSAGE_BUSY] = "busy",
    [METRICS_MESSAGE_STALE] = "stale",     [METRICS_MESSAGE_FOREIGN] = "foreign",
    [METRICS_MESSAGE_HELD] = "held",       [METRICS_MESSAGE_UNSUPPORTED] = "unsupported"};
static const char *const call_names[METRICS_CALLS] = {[METRICS_CALL_CLAIM] = "claim",
                                                      [METRICS_CALL_FINISH] = "finish",
                                                      [METRICS_CALL_RELEASE] = "release",
                                                      [METRICS_CALL_HEARTBEAT] = "heartbeat",
                                                      [METRICS_CALL_MAINTAIN] = "maintain"};

/* By bound, and what is above the last one; not added up before they are shown. */
struct histogram {
    uint64_t buckets[MOST_BOUNDS + 1];
    uint64_t sum_ns;
};

struct step_metrics {
    const char *flow, *step;
    uint64_t outcomes[METRICS_OUTCOMES];
    struct histogram wait, run;
};

struct metrics {
    const char *queue;
    struct step_metrics *steps;
    size_t step_count, step_room;
    uint64_t messages[METRICS_MESSAGES];
    uint64_t guard;
    struct histogram calls[METRICS_CALLS];
};

struct metrics *metrics_create(const char *queue)
{
    struct metrics *metrics = calloc(1, sizeof *metrics);

    if (metrics != NULL)
        metrics->queue = queue;
    return metrics;
}

void metrics_destroy(struct metrics *metrics)
{
    if (metrics == NULL)
        return;
    free(metrics->steps);
    free(metrics);
}

bool metrics_add_step(struct metrics *metrics, const char *flow, const char *step)
{
    if (metrics->step_count == metrics->step_room) {
        size_t room = metrics->step_room == 0 ? 16 : 2 * metrics->step_room;
        struct step_metrics *steps = realloc(metrics->steps, room * sizeof *steps);
        if (steps == NULL)
            return false;
        metrics->steps = steps;
        metrics->step_room = room;
    }
    metrics->steps[metrics->step_count++] = (struct step_metrics){.flow = flow, .step = step};
    return true;
}

static void observe(struct histogram *histogram, const struct bound *bounds, size_t count,
                    uint64_t ns)
{
    size_t i = 0;

    while (i < count && ns > bounds[i].ns)
        i++;
    histogram->buckets[i]++;
    histogram->sum_ns += ns;
}

void metrics_count_task(struct metrics *metrics, size_t step, enum metrics_outcome outcome)
{
    metrics->steps[step].outcomes[outcome]++;
}

void metrics_count_message(struct metrics *metrics, enum metrics_message message)
{
    metrics->messages[message]++;
}

void metrics_count_guard(struct metrics *metrics)
{
    metrics->guard++;
}

void metrics_observe_wait(struct metrics *metrics, size_t step, uint64_t ns)
{
    observe(&metrics->steps[step].wait, task_bounds, TASK_BOUNDS, ns);
}

void metrics_observe_run(struct metrics *metrics, size_t step, uint64_t ns)
{
    observe(&metrics->steps[step].run, task_bounds, TASK_BOUNDS, ns);
}

void metrics_observe_call(struct metrics *metrics, enum metrics_call call, uint64_t ns)
{
    observe(&metrics->calls[call], call_bounds, CALL_BOUNDS, ns);
}

static uint64_t count_of(const struct histogram *histogram)
{
    uint64_t count = 0;

    for (size_t i = 0; i <= MOST_BOUNDS; i++)
        count += histogram->buckets[i];
    return count;
}

/* `labels` has a free place for le. */
static void put_histogram(struct buf *text, const char *name, struct exposition_labels labels,
                          const struct histogram *histogram, const struct bound *bounds,
                          size_t count)
{
    struct exposition_labels with_le = labels;
    uint64_t below = 0;
    size_t le = 0;

    while (with_le.label[le].name != NULL)
        le++;
    with_le.label[le].name = "le";
    for (size_t i = 0; i <= count; i++) {
        below += histogram->buckets[i];
        with_le.label[le].value = i < count ? bounds[i].le : "+Inf";
        exposition_count(text, name, "_bucket", &with_le, below);
    }
    exposition_seconds(text, name, "_sum", &labels, histogram->sum_ns);
    exposition_count(text, name, "_count", &labels, below);
}

static struct exposition_labels labels_of(const struct metrics *metrics,
                                          const struct step_metrics *step)
{
    return (struct exposition_labels){
        {{"queue", metrics->queue}, {"flow", step->flow}, {"step", step->step}}};
}

/* The usual outcomes are there from the start, so that the first one is an increase. */
static bool is_shown(const struct step_metrics *step, enum metrics_outcome outcome)
{
    return outcome == METRICS_COMPLETED || outcome == METRICS_RETRYING ||
           outcome == METRICS_FAILED || step->outcomes[outcome] > 0;
}

static void render_tasks(const struct metrics *metrics, struct buf *text)
{
    static const char name[] = "pgflow_tasks_total";

    exposition_family(text, name, "counter",
                      "Claimed tasks by what became of them, as acknowledged by the database.");
    for (size_t i = 0; i < metrics->step_count; i++) {
        struct exposition_labels labels = labels_of(metrics, &metrics->steps[i]);
        labels.label[3].name = "outcome";
        for (size_t k = 0; k < METRICS_OUTCOMES; k++) {
            labels.label[3].value = outcome_names[k];
            if (is_shown(&metrics->steps[i], (enum metrics_outcome)k))
                exposition_count(text, name, "", &labels, metrics->steps[i].outcomes[k]);
        }
    }
}

static void render_times(const struct metrics *metrics, struct buf *text, const char *name,
                         const char *help, size_t offset)
{
    exposition_family(text, name, "histogram", help);
    for (size_t i = 0; i < metrics->step_count; i++) {
        const struct step_metrics *step = &metrics->steps[i];
        const void *at = (const char *)step + offset;
        const struct histogram *histogram = at;
        if (count_of(histogram) > 0)
            put_histogram(text, name, labels_of(metrics, step), histogram, task_bounds,
                          TASK_BOUNDS);
    }
}

static void render_calls(const struct metrics *metrics, struct buf *text)
{
    static const char name[] = "pgflow_db_roundtrip_seconds";

    exposition_family(text, name, "histogram",
                      "Answered database calls, from sending to the last byte of the answer.");
    for (size_t i = 0; i < METRICS_CALLS; i++)
        put_histogram(text, name, (struct exposition_labels){{{"call", call_names[i]}}},
                      &metrics->calls[i], call_bounds, CALL_BOUNDS);
}

void metrics_render(const struct metrics *metrics, struct buf *text)
{
    render_tasks(metrics, text);
    render_times(metrics, text, "pgflow_task_seconds", "Time in the handler, however it ended.",
                 offsetof(struct step_metrics, run));
    render_times(metrics, text, "pgflow_queue_wait_seconds",
                 "From when a task could be claimed to the begin of its handler.",
                 offsetof(struct step_metrics, wait));
    render_calls(metrics, text);
    exposition_family(text, "pgflow_claimed_messages_total", "counter",
                      "Messages that claims answered with, by what they were.");
    for (size_t i = 0; i < METRICS_MESSAGES; i++)
        exposition_count(
            text, "pgflow_claimed_messages_total", "",
            &(struct exposition_labels){{{"queue", metrics->queue}, {"outcome", message_names[i]}}},
            metrics->messages[i]);
    exposition_family(
        text, "pgflow_guard_total", "counter",
        "Batches with work that this host has no handler for; it stops at the first.");
    exposition_count(text, "pgflow_guard_total", "",
                     &(struct exposition_labels){{{"queue", metrics->queue}}}, metrics->guard);
}
