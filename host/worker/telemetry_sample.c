/*
 * What only the database knows: how long the queue is, and how far versions are drained. Asked for
 * at the heartbeat's tick, on the connection for calls that may take long.
 *
 * Counting a long queue takes long. So that watching costs the database no more than a twentieth of
 * one backend, the next question waits twenty times as long as the last answer took.
 */
#include "worker/telemetry.h"

#include <stdlib.h>
#include <string.h>

#include "log/log.h"
#include "worker/telemetry_private.h"

enum { REST = 20 };

uint64_t telemetry_note_answer(const struct worker *worker, const struct db_status *status,
                               const char *call, bool *is_refused)
{
    if (status->outcome == DB_ERROR && !*is_refused)
        log_warn("metrics_incomplete", "the database refuses a question of the metrics",
                 LOG_QUEUE(worker->queue), LOG_FIELD_TEXT("call", call),
                 LOG_FIELD_TEXT("sqlstate", status->sqlstate), LOG_ERROR(status->text));
    if (status->outcome == DB_OK || status->outcome == DB_ERROR)
        *is_refused = status->outcome == DB_ERROR;
    return REST * status->elapsed_ns;
}

static bool answered(struct worker *worker, const struct db_status *status, const char *call,
                     bool *is_refused)
{
    struct sample *sample = &worker->telemetry->sample;
    uint64_t next_ns = uv_hrtime() + telemetry_note_answer(worker, status, call, is_refused);

    sample->calls_out--;
    if (sample->next_ns < next_ns)
        sample->next_ns = next_ns; /* also after a timeout, which was the dearest of all */
    return status->outcome == DB_OK;
}

static void add(struct step_sample *to, const struct db_queue_stats_row *row)
{
    to->queued += row->queued;
    to->started += row->started;
    if (to->oldest_ms < row->oldest_ms)
        to->oldest_ms = row->oldest_ms;
}

static void on_queue(void *ctx, const struct db_status *status, const struct db_queue_stats *stats)
{
    struct worker *worker = ctx;
    struct sample *sample = &worker->telemetry->sample;
    size_t others = registry_pair_count(worker->registry);

    sample->has_steps = answered(worker, status, "queue_stats", &sample->steps_refused);
    if (!sample->has_steps)
        return;
    for (size_t i = 0; i <= others; i++)
        sample->steps[i] = (struct step_sample){.oldest_ms = -1};
    for (size_t i = 0; i < stats->count; i++) {
        const struct db_queue_stats_row *row = &stats->rows[i];
        const struct deployment_step *step = registry_find(worker->registry, row->flow, row->step);
        add(&sample->steps[step != NULL ? step->pair : others], row);
    }
}

static void on_drain(void *ctx, const struct db_status *status, const struct db_drain *drain)
{
    struct worker *worker = ctx;
    struct sample *sample = &worker->telemetry->sample;

    sample->has_flows = answered(worker, status, "draining_runs", &sample->flows_refused);
    if (!sample->has_flows)
        return;
    memset(sample->flows, 0, sizeof sample->flows);
    for (size_t i = 0; i < worker->module_count; i++)
        for (size_t k = 0; k < drain->count; k++)
            if (strcmp(worker->modules[i].deployment->flow, drain->rows[k].flow) == 0)
                sample->flows[i] =
                    (struct flow_sample){.is_compiled = true,
                                         .is_active = drain->rows[k].is_active,
                                         .started_runs = drain->rows[k].started_runs};
}

static void on_database(void *ctx, const struct db_status *status, const char *text)
{
    struct worker *worker = ctx;
    struct sample *sample = &worker->telemetry->sample;

    sample->has_database =
        answered(worker, status, "database_metrics", &sample->database_refused) && text != NULL;
    free(sample->database);
    sample->database = sample->has_database ? strdup(text) : NULL;
}

void telemetry_sample(struct worker *worker)
{
    const char *flows[LIMIT_MODULES];

    if (worker->telemetry == NULL)
        return;
    struct sample *sample = &worker->telemetry->sample;
    if (sample->calls_out > 0 || !worker->up || worker->life.state == WORKER_STOPPED ||
        uv_hrtime() < sample->next_ns)
        return;
    for (size_t i = 0; i < worker->module_count; i++)
        flows[i] = worker->modules[i].deployment->flow;
    sample->calls_out = 3;
    db_queue_stats(worker->db, worker->queue, on_queue, worker);
    db_draining_runs(worker->db, (struct db_texts){.items = flows, .count = worker->module_count},
                     on_drain, worker);
    db_database_metrics(worker->db, on_database, worker);
}
