/*
 * The text of a scrape: what was counted, and what is true now.
 */
#include <inttypes.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "observe/exposition.h"
#include "worker/telemetry_private.h"

#define NONE (&(struct exposition_labels){{{NULL, NULL}}})
#define ONE(n, v) (&(struct exposition_labels){{{n, v}}})

static void put_one(struct buf *text, const char *name, const char *type, const char *help,
                    uint64_t value)
{
    exposition_family(text, name, type, help);
    exposition_count(text, name, "", NONE, value);
}

static void put_process(const struct telemetry *telemetry, struct buf *text)
{
    struct rusage usage;
    size_t resident = 0;

    put_one(text, "process_start_time_seconds", "gauge",
            "Start of this host, in seconds since 1970.", (uint64_t)telemetry->started_at);
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        uint64_t us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * US_PER_S +
                      (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
        exposition_family(text, "process_cpu_seconds_total", "counter",
                          "Processor time of the host, without its runners.");
        exposition_seconds(text, "process_cpu_seconds_total", "", NONE, us * NS_PER_US);
    }
    if (uv_resident_set_memory(&resident) == 0)
        put_one(text, "process_resident_memory_bytes", "gauge",
                "Resident memory of the host, without its runners.", resident);
    exposition_family(text, "pgflow_build_info", "gauge", "The version of this host.");
    exposition_count(text, "pgflow_build_info", "", ONE("version", PGFLOW_VERSION), 1);
}

static void put_state(const struct worker *worker, struct buf *text)
{
    const char *word = NULL;
    bool ready = readiness_judge(worker, uv_hrtime(), &word);

    exposition_family(text, "pgflow_worker_state", "gauge", "1 for the state that the host is in.");
    for (int i = WORKER_STARTING; i <= WORKER_STOPPED; i++)
        exposition_count(text, "pgflow_worker_state", "",
                         ONE("state", worker_state_name((enum worker_state)i)),
                         worker->life.state == (enum worker_state)i);
    exposition_family(text, "pgflow_standby", "gauge", "1 for the reason why the host stands by.");
    for (int i = DB_FENCE_DISABLED; i <= DB_FENCE_NOT_IN_MANIFEST; i++)
        exposition_count(text, "pgflow_standby", "",
                         ONE("reason", db_fence_reason_name((enum db_fence_reason)i)),
                         worker->life.state == WORKER_STANDBY &&
                             worker->standby.reason == (enum db_fence_reason)i);
    exposition_family(text, "pgflow_ready", "gauge",
                      "What /readyz says: 1 while claiming or standing by.");
    exposition_count(text, "pgflow_ready", "", ONE("queue", worker->queue), ready);
    if (worker->identity.id[0] != '\0') {
        exposition_family(text, "pgflow_heartbeat_age_seconds", "gauge",
                          "Since the last heartbeat that was answered; 15 s is gone.");
        exposition_seconds(text, "pgflow_heartbeat_age_seconds", "", NONE,
                           uv_hrtime() - worker->heartbeat.answered_ns);
    }
}

static void put_slots(const struct worker *worker, struct buf *text)
{
    const struct task_table *tasks = &worker->tasks;
    uint32_t slots = (uint32_t)worker->settings->concurrency;
    uint32_t busy = tasks->count[STAGE_RUNNING] < slots ? tasks->count[STAGE_RUNNING] : slots;

    exposition_family(text, "pgflow_slots", "gauge", "Handlers that may run at once.");
    exposition_count(text, "pgflow_slots", "", ONE("state", "busy"), busy);
    exposition_count(text, "pgflow_slots", "", ONE("state", "free"), slots - busy);
    put_one(text, "pgflow_tasks_waiting", "gauge", "Claimed tasks whose handler has not begun.",
            tasks->count[STAGE_WAITING]);
    put_one(text, "pgflow_results_unreported", "gauge",
            "Ended tasks that the database has not acknowledged.", task_count_unreported(tasks));
    put_one(text, "pgflow_results_unreported_bytes", "gauge", "Outputs and errors of these.",
            tasks->result_bytes);
}

static void put_exits(const struct worker *worker, struct buf *text)
{
    exposition_family(text, "pgflow_runner_exits_total", "counter",
                      "Runners that ended, by flow and by what ended them.");
    for (size_t i = 0; i < worker->module_count; i++)
        for (int cause = 0; cause < POOL_EXIT_CAUSES; cause++)
            exposition_count(
                text, "pgflow_runner_exits_total", "",
                &(struct exposition_labels){
                    {{"flow", worker->modules[i].deployment->flow},
                     {"cause", pool_exit_cause_name((enum pool_exit_cause)cause)}}},
                pool_module_exits(worker->modules[i].pool, (enum pool_exit_cause)cause));
}

static void put_runners(const struct worker *worker, struct buf *text)
{
    if (worker->pool == NULL)
        return; /* a host that is about to end has none any more */
    struct pool_gauges gauges = pool_gauges(worker->pool);

    exposition_family(text, "pgflow_runners", "gauge", "Runner processes.");
    exposition_count(text, "pgflow_runners", "", ONE("state", "busy"), gauges.busy);
    exposition_count(text, "pgflow_runners", "", ONE("state", "idle"), gauges.idle);
    exposition_count(text, "pgflow_runners", "", ONE("state", "starting"), gauges.starting);
    exposition_count(text, "pgflow_runners", "", ONE("state", "stopping"), gauges.stopping);
    put_one(text, "pgflow_runner_starts_total", "counter", "Runners that were started.",
            gauges.spawned);
    put_exits(worker, text);
    exposition_family(text, "pgflow_module_held", "gauge",
                      "1 while the module of the flow cannot start: its tasks stay queued.");
    for (size_t i = 0; i < worker->module_count; i++)
        exposition_count(text, "pgflow_module_held", "",
                         ONE("flow", worker->modules[i].deployment->flow),
                         worker->modules[i].suspended);
}

static void put_database(const struct worker *worker, struct buf *text)
{
    struct db_counts counts = {0};

    if (worker->db != NULL)
        db_count(worker->db, &counts);
    put_one(text, "pgflow_db_up", "gauge", "1 while the connection for work stands.", worker->up);
    put_one(text, "pgflow_db_reconnects_total", "counter",
            "Connections made after the first one of each.", counts.reconnects);
    put_one(text, "pgflow_db_calls_total", "counter", "Database calls that were answered.",
            counts.calls);
    put_one(text, "pgflow_db_calls_lost_total", "counter",
            "Database calls whose connection went before the answer.", counts.lost);
}

/* The last place is for pairs that this host does not serve: labels without a value. */
static struct exposition_labels labels_of(const struct worker *worker, size_t i)
{
    bool other = i == registry_pair_count(worker->registry);
    const struct deployment_step *step = other ? NULL : registry_pair(worker->registry, i);

    return (struct exposition_labels){{{"queue", worker->queue},
                                       {"flow", other ? "" : step->deployment->flow},
                                       {"step", other ? "" : step->slug}}};
}

static void put_queue(const struct worker *worker, struct buf *text)
{
    const struct sample *sample = &worker->telemetry->sample;
    size_t count = registry_pair_count(worker->registry);

    if (!sample->has_steps || !worker->up)
        return;
    exposition_family(text, "pgflow_queue_messages", "gauge",
                      "Tasks on the queue: queued, delayed ones too, and in some worker's hand.");
    for (size_t i = 0; i <= count; i++) {
        struct exposition_labels labels = labels_of(worker, i);
        labels.label[3].name = "state";
        labels.label[3].value = "queued";
        exposition_count(text, "pgflow_queue_messages", "", &labels,
                         (uint64_t)sample->steps[i].queued);
        labels.label[3].value = "started";
        exposition_count(text, "pgflow_queue_messages", "", &labels,
                         (uint64_t)sample->steps[i].started);
    }
    exposition_family(text, "pgflow_queue_oldest_seconds", "gauge",
                      "For how long the oldest ready task has waited; 0 when none is ready.");
    for (size_t i = 0; i <= count; i++) {
        struct exposition_labels labels = labels_of(worker, i);
        int64_t ms = sample->steps[i].oldest_ms;
        exposition_seconds(text, "pgflow_queue_oldest_seconds", "", &labels,
                           ms > 0 ? (uint64_t)ms * NS_PER_MS : 0);
    }
}

static void put_drain(const struct worker *worker, struct buf *text)
{
    const struct sample *sample = &worker->telemetry->sample;

    if (!sample->has_flows || !worker->up)
        return;
    exposition_family(text, "pgflow_flow_active", "gauge",
                      "1 for the version that its alias points at.");
    for (size_t i = 0; i < worker->module_count; i++)
        exposition_count(
            text, "pgflow_flow_active", "",
            &(struct exposition_labels){{{"flow", worker->modules[i].deployment->flow},
                                         {"alias", worker->modules[i].deployment->alias}}},
            sample->flows[i].is_active);
    exposition_family(text, "pgflow_draining_runs", "gauge",
                      "Started runs of a version that no alias points at.");
    for (size_t i = 0; i < worker->module_count; i++)
        if (sample->flows[i].is_compiled && !sample->flows[i].is_active)
            exposition_count(text, "pgflow_draining_runs", "",
                             ONE("flow", worker->modules[i].deployment->flow),
                             (uint64_t)sample->flows[i].started_runs);
}

/* Of the whole database, so that an alert on a queue needs no host of that queue. */
static void put_other_queues(const struct worker *worker, struct buf *text)
{
    const struct sample *sample = &worker->telemetry->sample;

    if (sample->has_database && sample->database != NULL && worker->up)
        buf_puts(text, sample->database);
}

void telemetry_render(const struct worker *worker, struct buf *text)
{
    metrics_render(worker->telemetry->metrics, text);
    put_slots(worker, text);
    put_runners(worker, text);
    put_database(worker, text);
    put_queue(worker, text);
    put_drain(worker, text);
    put_other_queues(worker, text);
    put_state(worker, text);
    put_process(worker->telemetry, text);
}
