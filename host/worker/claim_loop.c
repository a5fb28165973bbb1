/*
 * When and how much to claim. One claim in flight, as wide as the free slots; none after a drain
 * has begun, none before what a reconnect left is released. Something to claim is expected after
 * a NOTIFY, after a result that made new work, after a claim that came back full; otherwise the
 * poll is the floor.
 */
#include "worker/worker_private.h"

#include <string.h>

#include "log/log.h"
#include "worker/telemetry.h"

enum { LONGEST_ERROR_PAUSE_MS = 1000, FIRST_ERROR_PAUSE_MS = 50, SUSPENDED_PAUSE_MS = 1000 };

static uint32_t random_bits(void)
{
    uint32_t bits = 0;

    (void)uv_random(NULL, NULL, &bits, sizeof bits, 0, NULL);
    return bits;
}

static void on_timer(uv_timer_t *timer)
{
    worker_wake(timer->data);
}

static void wake_at(struct worker *worker, uint64_t at_ns, uint64_t now_ns)
{
    (void)uv_timer_start(&worker->claims.timer, on_timer, clock_ms_until(at_ns, now_ns), 0);
}

void claim_loop_expect_work(struct worker *worker)
{
    worker->claims.due = true;
    idle_backoff_reset(&worker->claims.backoff);
    worker_wake(worker);
}

void claim_loop_start(struct worker *worker)
{
    worker->claims.backoff =
        (struct idle_backoff){.base_ms = (uint32_t)worker->settings->poll_interval, .misses = 0};
    worker->claims.answered_ns = uv_hrtime();
    worker->claims.idle_since_ns = 0;
    maintenance_start(worker);
    claim_loop_expect_work(worker);
}

static void pause_poll(struct worker *worker, uint64_t now_ns, int64_t due_in_ms)
{
    uint32_t pause = idle_backoff_next(&worker->claims.backoff, random_bits());
    uint32_t longest = idle_longest_pause_ms(&worker->idle);

    if (pause > longest)
        pause = longest;
    worker->claims.next_poll_ns = now_ns + idle_sleep_ms(pause, due_in_ms) * NS_PER_MS;
}

/* --exit-when-idle: from the first empty claim with nothing running or unreported. */
static void watch_idleness(struct worker *worker, bool empty, uint64_t now_ns)
{
    struct claim_loop *claims = &worker->claims;
    uint64_t limit_ns = (uint64_t)worker->settings->exit_when_idle * NS_PER_S;

    if (!empty || task_count(&worker->tasks) > 0) {
        claims->idle_since_ns = 0;
        return;
    }
    if (claims->idle_since_ns == 0)
        claims->idle_since_ns = now_ns;
    if (limit_ns > 0 && now_ns - claims->idle_since_ns >= limit_ns)
        stop_begin(worker, DRAIN_THEN_EXIT, ERROR_NONE, "idle for as long as --exit-when-idle");
}

static void on_refused(struct worker *worker, const struct db_status *status, uint64_t now_ns)
{
    struct claim_loop *claims = &worker->claims;

    /* The claim may have been made all the same, and not on the connection that on_up tells of. */
    if (status->outcome == DB_LOST)
        reclaim_want(worker);
    if (!answer_is_there(worker, status, "the claim")) {
        uint32_t pause_ms =
            clock_backoff_ms(FIRST_ERROR_PAUSE_MS, LONGEST_ERROR_PAUSE_MS, claims->failures++);

        claims->due = true;
        claims->not_before_ns = now_ns + pause_ms * NS_PER_MS;
    }
}

static void on_fenced(struct worker *worker, const char *reason)
{
    const char *why = reason != NULL ? reason : "unknown";

    log_warn("fenced", "the database lets this worker claim no more", LOG_QUEUE(worker->queue),
             LOG_WORKER(worker->identity.id), LOG_FIELD_TEXT("reason", why));
    if (strcmp(why, "must_stop") == 0)
        stop_begin(worker, DRAIN_THEN_STANDBY, ERROR_NONE, "the function was disabled");
    else if (strcmp(why, "wrong_modules") == 0 || strcmp(why, "not_in_manifest") == 0)
        stop_begin(worker, DRAIN_THEN_STANDBY, ERROR_NONE, why);
    else if (strcmp(why, "deprecated") == 0)
        stop_begin(worker, DRAIN_THEN_EXIT, ERROR_NONE, "deprecated");
    else
        worker_fail(worker, ERROR_UNAVAILABLE,
                    "the database fenced this worker (%s); its supervisor should start it afresh",
                    why);
}

static bool has_suspended(const struct db_claim *claim)
{
    for (size_t i = 0; i < claim->count; i++)
        if (claim->rows[i]->outcome == DB_CLAIM_SUSPENDED)
            return true;
    return false;
}

static void take_rows(struct worker *worker, const struct db_claim *claim, uint64_t now_ns,
                      uint64_t claimed_ns)
{
    struct claim_loop *claims = &worker->claims;
    const struct db_claim_row *first = claim->rows[0];

    if (first->outcome == DB_CLAIM_FENCED) {
        on_fenced(worker, first->reason);
        return;
    }
    bool empty = first->outcome == DB_CLAIM_EMPTY;
    claims->backlog = !empty && claim->count >= claims->asked;
    idle_note_claim(&worker->idle, !empty, claims->backlog, now_ns);
    watch_idleness(worker, empty, now_ns);
    if (empty) {
        pause_poll(worker, now_ns, first->due_in_ms);
        return;
    }
    idle_backoff_reset(&claims->backoff);
    pause_poll(worker, now_ns, -1);
    if (claims->backlog)
        claims->due = true;
    telemetry_claimed(worker, claim);
    if (has_suspended(claim))
        claims->not_before_ns = now_ns + SUSPENDED_PAUSE_MS * NS_PER_MS;
    dispatch_claim(worker, claim, claimed_ns); /* the last one that reads the rows */
}

static void on_claimed(void *ctx, const struct db_status *status, const struct db_claim *claim)
{
    struct worker *worker = ctx;
    uint64_t now_ns = uv_hrtime();

    worker->claims.in_flight = false;
    worker_wake(worker);
    telemetry_call(worker, METRICS_CALL_CLAIM, status);
    if (worker->life.state == WORKER_STOPPED)
        return;
    if (status->outcome != DB_OK) {
        on_refused(worker, status, now_ns);
        return;
    }
    worker->claims.failures = 0;
    worker->claims.answered_ns = now_ns;
    take_rows(worker, claim, now_ns, now_ns - status->elapsed_ns);
    if (worker->settings->once && worker->life.state == WORKER_RUNNING)
        stop_begin(worker, DRAIN_THEN_EXIT, ERROR_NONE, "--once: one claim was made");
}

static bool may_claim(const struct worker *worker)
{
    return worker->life.state == WORKER_RUNNING && worker->up && !worker->claims.in_flight &&
           worker->reclaim.state == RECLAIM_NONE;
}

static bool is_all_suspended(const struct worker *worker)
{
    return worker->suspended_count == registry_pair_count(worker->registry);
}

/* A host whose modules are all suspended claims nothing until one of them can start. To the options
 * that end it by themselves that is nothing to do, or a failure. */
static void wait_while_suspended(struct worker *worker, uint64_t now_ns)
{
    if (worker->settings->once) {
        worker_fail(worker, ERROR_CONFIG, "--once: no given module can start; see module_held");
        return;
    }
    watch_idleness(worker, true, now_ns);
    if (worker->settings->exit_when_idle > 0)
        wake_at(worker, now_ns + NS_PER_S, now_ns);
}

static uint32_t width(const struct worker *worker, uint64_t now_ns)
{
    const struct prefetch *prefetch = &worker->claims.prefetch;
    uint32_t concurrency = (uint32_t)worker->settings->concurrency;
    /* While a module is suspended, what is claimed of it is hidden from the hosts that can run it:
     * no more than the free slots. */
    bool ahead =
        !worker->settings->once && worker->suspended_count == 0 && prefetch_is_on(prefetch, now_ns);

    /* Those of a run that is locked must not stop the claims of the others. */
    uint32_t isolated = worker->tasks.isolated < LIMIT_RESULTS_ISOLATED ? worker->tasks.isolated
                                                                        : LIMIT_RESULTS_ISOLATED;

    return claim_width(
        &(struct claim_room){.concurrency = concurrency,
                             .batch_size = (uint32_t)worker->settings->batch_size,
                             .in_pool = task_count_in_pool(&worker->tasks),
                             .waiting = worker->tasks.count[STAGE_WAITING],
                             .unreported = task_count_unreported(&worker->tasks) - isolated,
                             .ahead = ahead ? prefetch_depth(prefetch, concurrency) : 0});
}

/*
 * Beside the results, while there is a backlog: the database then works on a flush and on a claim
 * at once, and one waits for the disk while the other computes. Else behind them, so that the
 * claim sees at once what they make. Large inputs stay off the connection of the heartbeat.
 */
static void send_claim(struct worker *worker, uint32_t quantity, uint64_t now_ns)
{
    struct claim_loop *claims = &worker->claims;
    bool beside = claims->backlog && prefetch_is_on(&claims->prefetch, now_ns) &&
                  prefetch_is_light(&claims->prefetch, quantity);

    claims->due = false;
    claims->in_flight = true;
    claims->asked = quantity;
    claims->sent_number = beside ? 0 : ++worker->calls_sent;
    db_read_and_claim_tasks(
        worker->db, worker->queue, (int)quantity, worker->settings->read_visibility,
        worker->identity.id,
        (struct db_pairs){.items = worker->suspended, .count = worker->suspended_count},
        beside ? DB_CLAIM_BESIDE_RESULTS : DB_CLAIM_BEHIND_RESULTS, on_claimed, worker);
}

void claim_loop_run(struct worker *worker)
{
    struct claim_loop *claims = &worker->claims;
    uint64_t now_ns = uv_hrtime();

    if (!may_claim(worker))
        return;
    if (is_all_suspended(worker)) {
        wait_while_suspended(worker, now_ns);
        return;
    }
    uint64_t at_ns = claims->due                                    ? claims->not_before_ns
                     : claims->next_poll_ns > claims->not_before_ns ? claims->next_poll_ns
                                                                    : claims->not_before_ns;
    if (at_ns > now_ns) {
        wake_at(worker, at_ns, now_ns);
        return;
    }
    uint32_t quantity = width(worker, now_ns);
    if (quantity == 0)
        return; /* the next handler that ends wakes the loop */
    (void)uv_timer_stop(&claims->timer);
    send_claim(worker, quantity, now_ns);
}
