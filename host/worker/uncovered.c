/*
 * A queue that needs steps which no given module has. The first start says so and ends with 78. It
 * leaves a marker in the database, and the next start of the same function, queue and modules finds
 * it: that one stands by, not ready, asks again with growing pauses, and starts once the queue is
 * covered. So a supervisor that starts a host again at once makes no storm of starts.
 *
 * --check, --once and --exit-if-disabled end with 78 whatever the marker says, and leave none.
 */
#include "worker/worker_private.h"

#include <stdio.h>

#include "base/clock.h"
#include "log/log.h"
#include "worker/startup_report.h"

enum {
    FIRST_PAUSE_MS = 1000,
    LONGEST_PAUSE_MS = 15000,
    /* systemd waits for READY at most so long after it was last told that a start goes on. */
    EXTENSION_S = 60,
};

static bool may_wait(const struct settings *settings)
{
    return !settings->check && !settings->once && !settings->exit_if_disabled;
}

static void fail(struct worker *worker)
{
    worker_fail(worker, ERROR_CONFIG, "%s", worker->uncovered.text);
}

static void tell_systemd(const struct worker *worker)
{
    char state[256];

    snprintf(state, sizeof state,
             "EXTEND_TIMEOUT_USEC=%d000000\n"
             "STATUS=not ready: the given modules do not cover the queue; pgflowctl coverage %s",
             EXTENSION_S, worker->queue);
    notify_systemd(state);
}

static void on_asked(void *ctx, const struct db_status *status, const struct db_coverage *missing);

static void ask(uv_timer_t *timer)
{
    struct worker *worker = timer->data;

    if (worker->life.state != WORKER_STANDBY || !worker->standby.for_gap)
        return;
    tell_systemd(worker);
    db_missing_coverage(
        worker->db, worker->queue,
        (struct db_pairs){.items = worker->pairs, .count = registry_pair_count(worker->registry)},
        on_asked, worker);
}

static void pause_and_ask(struct worker *worker)
{
    struct uncovered *uncovered = &worker->uncovered;

    (void)uv_timer_start(&uncovered->timer, ask,
                         clock_backoff_ms(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, uncovered->questions++),
                         0);
}

static void on_asked(void *ctx, const struct db_status *status, const struct db_coverage *missing)
{
    struct worker *worker = ctx;

    if (worker->life.state != WORKER_STANDBY || !worker->standby.for_gap)
        return;
    if (!answer_is_there(worker, status, "checking the coverage of the queue") ||
        missing->count > 0) {
        pause_and_ask(worker);
        return;
    }
    standby_end(worker, "the queue is covered");
}

static void stand_by(struct worker *worker)
{
    struct uncovered *uncovered = &worker->uncovered;

    log_warn("uncovered", uncovered->text, LOG_QUEUE(worker->queue),
             LOG_FIELD_TEXT("function", worker->function));
    uncovered->questions = 0;
    tell_systemd(worker);
    standby_for_gap(worker);
    pause_and_ask(worker);
}

void uncovered_noted(struct worker *worker, bool before)
{
    if (before)
        stand_by(worker);
    else
        fail(worker);
}

bool uncovered_may_be_noted(struct worker *worker, const struct db_coverage *missing)
{
    startup_report_gap(worker, missing, worker->uncovered.text, sizeof worker->uncovered.text);
    if (may_wait(worker->settings))
        return true;
    fail(worker);
    return false;
}
