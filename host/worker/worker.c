#include "worker/worker.h"

#include <stdlib.h>

#include "db/db.h"
#include "log/log.h"
#include "worker/telemetry.h"
#include "worker/worker_private.h"

static void pump(uv_idle_t *idle)
{
    struct worker *worker = idle->data;

    uv_idle_stop(idle);
    if (worker->life.state == WORKER_STOPPED || worker->db == NULL)
        return;
    life_run(worker);
    results_flush(worker);
    reclaim_run(worker);
    idle_run(worker);
    claim_loop_run(worker);
    maintenance_run(worker);
    drain_run(worker);
}

static bool init_loop(struct worker *worker, struct error *error)
{
    uv_timer_t *timers[] = {
        &worker->startup.retry, &worker->claims.timer,    &worker->results.timer,
        &worker->reclaim.timer, &worker->heartbeat.timer, &worker->maintenance.timer,
        &worker->control_timer, &worker->drain_timer,     &worker->lateness,
        &worker->watchdog,      &worker->uncovered.timer};
    int failed = uv_loop_init(&worker->loop);

    if (failed != 0)
        return error_set(error, ERROR_INTERNAL, "cannot make an event loop: %s",
                         uv_strerror(failed));
    /* Neither can fail on a loop that exists. */
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        (void)uv_timer_init(&worker->loop, timers[i]);
        timers[i]->data = worker;
    }
    (void)uv_idle_init(&worker->loop, &worker->pump);
    worker->pump.data = worker;
    worker->run_pump = pump;
    return true;
}

static bool open_all(struct worker *worker, struct error *error)
{
    if (!descriptors_reserve(worker, error) || !signals_open(worker, error) ||
        !modules_load(worker, error) || !telemetry_open(worker, error) ||
        !registration_make_info(worker, error) || !control_make_channel(worker, error) ||
        !runners_create(worker, error) || !database_open(worker, error))
        return false;
    notify_systemd_start_watchdog(worker);
    return true;
}

static void free_all(struct worker *worker)
{
    while (TAILQ_FIRST(&worker->tasks.tasks) != NULL)
        task_remove(&worker->tasks, TAILQ_FIRST(&worker->tasks.tasks));
    modules_unload(worker);
    free(worker->info);
    free(worker);
}

/* Closed handles need a few turns; more than that is a lookup that hangs, which nothing can stop.
 */
static bool close_loop(struct worker *worker)
{
    for (int turn = 0; turn < 10 && uv_loop_alive(&worker->loop); turn++)
        (void)uv_run(&worker->loop, UV_RUN_NOWAIT);
    return uv_loop_close(&worker->loop) == 0;
}

/* A signal that came while modules were inspected is no failure of theirs. */
static void end_start(struct worker *worker, const struct error *error)
{
    if (worker->life.state == WORKER_DRAINING) {
        worker_close(worker);
        return;
    }
    worker->failure = *error;
    worker->drain.code = error->code;
    worker_close_all(worker);
}

static void live(struct worker *worker, struct worker_end *end)
{
    struct error error;

    if (!open_all(worker, &error))
        end_start(worker, &error);
    while (!worker->closed)
        (void)uv_run(&worker->loop, UV_RUN_ONCE);
    end->leave_at_once = !close_loop(worker);
    end->code = worker->drain.code;
    end->error = worker->failure;
}

struct worker_end worker_run(const struct settings *settings, const struct db_address *address)
{
    struct worker_end end = {.code = ERROR_INTERNAL};
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        (void)error_out_of_memory(&end.error);
        return end;
    }
    task_table_init(&worker->tasks);
    worker->settings = settings;
    worker->address = address;
    worker->runner_program = -1;
    if (!init_loop(worker, &end.error)) {
        free(worker);
        return end;
    }
    live(worker, &end);
    if (!end.leave_at_once)
        free_all(worker);
    return end;
}
