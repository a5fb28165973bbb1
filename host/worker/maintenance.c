/*
 * maintain() every 15 s, jittered: recovery of tasks whose host is gone. Hosts standing by call it
 * too.
 *
 * Never in the first 30 s of a connection: after an outage every host has results that are about
 * to be reported, and recovery would take those tasks away. Never while a result is unreported that
 * was there when the call became due, for the same reason; results that come later are younger than
 * their tasks' deadline by seconds at least, and waiting for an instant without any would be
 * waiting for ever under load. Isolated results do not count: their run may stay locked for
 * hours, and recovery passes over tasks that are locked with it.
 */
#include "worker/worker_private.h"

#include "log/log.h"
#include "worker/telemetry.h"

enum { MAINTAIN_MS = 15000 };

#define YOUNG_CONNECTION_NS (30 * NS_PER_S)

static uint32_t random_bits(void)
{
    uint32_t bits = 0;

    (void)uv_random(NULL, NULL, &bits, sizeof bits, 0, NULL);
    return bits;
}

bool maintenance_may_run(const struct worker *worker, uint64_t now_ns)
{
    bool serving = worker->life.state == WORKER_RUNNING || worker->life.state == WORKER_STANDBY;

    return worker->maintenance.due && !worker->maintenance.in_flight && serving && worker->up &&
           now_ns - worker->up_since_ns >= YOUNG_CONNECTION_NS &&
           worker->tasks.results_acknowledged + worker->tasks.isolated >=
               worker->maintenance.after_result;
}

static void on_maintained(void *ctx, const struct db_status *status, const int *requeued)
{
    struct worker *worker = ctx;

    worker->maintenance.in_flight = false;
    telemetry_call(worker, METRICS_CALL_MAINTAIN, status);
    if (answer_is_there(worker, status, "maintain") && *requeued > 0)
        log_warn("recovered", "tasks whose worker was lost went back to their queues",
                 LOG_QUEUE(worker->queue), LOG_FIELD_INT("count", *requeued));
}

static void tick(uv_timer_t *timer)
{
    struct worker *worker = timer->data;

    maintenance_want(worker);
    (void)uv_timer_start(&worker->maintenance.timer, tick, jitter_ms(MAINTAIN_MS, random_bits()),
                         0);
}

void maintenance_start(struct worker *worker)
{
    if (!uv_is_active((uv_handle_t *)&worker->maintenance.timer))
        (void)uv_timer_start(&worker->maintenance.timer, tick,
                             jitter_ms(MAINTAIN_MS, random_bits()), 0);
}

void maintenance_want(struct worker *worker)
{
    if (!worker->maintenance.due)
        worker->maintenance.after_result = worker->tasks.results_made;
    worker->maintenance.due = true;
    worker_wake(worker);
}

void maintenance_run(struct worker *worker)
{
    if (!maintenance_may_run(worker, uv_hrtime()))
        return;
    worker->maintenance.due = false;
    worker->maintenance.in_flight = true;
    db_maintain(worker->db, on_maintained, worker);
}
