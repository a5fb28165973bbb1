/*
 * The database as the worker sees it: up, down, or never reached.
 */
#include "worker/worker_private.h"

#include <stdio.h>

#include "log/log.h"

static void on_up(void *ctx)
{
    struct worker *worker = ctx;
    bool first = worker->up_since_ns == 0;

    worker->up = true;
    worker->up_since_ns = uv_hrtime();
    if (!first) {
        log_info("database_back", "results are reported, then claims go on",
                 LOG_QUEUE(worker->queue),
                 LOG_FIELD_INT("unreported", task_count_unreported(&worker->tasks)));
        reclaim_want(worker);
    }
    startup_run(worker);
    claim_loop_expect_work(worker);
}

static void on_down(void *ctx, const char *reason)
{
    struct worker *worker = ctx;

    worker->up = false;
    if (worker->settings->check) {
        worker_fail(worker, ERROR_UNAVAILABLE, "the database went away during --check: %s", reason);
        return;
    }
    log_warn("database_lost", "no database; handlers go on, their results are kept",
             LOG_QUEUE(worker->queue), LOG_ERROR(reason));
}

static void on_notify(void *ctx)
{
    struct worker *worker = ctx;

    idle_note_notification(&worker->idle, uv_hrtime());
    claim_loop_expect_work(worker);
}

static void on_control(void *ctx)
{
    control_heard(ctx);
}

static void on_listening(void *ctx, bool listening)
{
    idle_on_listening(ctx, listening);
}

static void on_fatal(void *ctx, const struct error *error)
{
    worker_fail(ctx, error->code, "%s", error->text);
}

bool database_open(struct worker *worker, struct error *error)
{
    const struct settings *settings = worker->settings;
    char name[64];

    snprintf(name, sizeof name, "pgflow-host/%s", worker->queue);
    worker->db =
        db_open(&worker->loop,
                &(struct db_config){
                    .address = worker->address,
                    .application_name = name,
                    .listen_queue = settings->no_listen || settings->pooled ? NULL : worker->queue,
                    .control_channel = worker->control_channel,
                    .connections = settings->db_connections,
                    .pooled = settings->pooled,
                    .connect_timeout_s = settings->connect_timeout,
                    .statement_deadline_ms = answer_deadline_ms(settings),
                    .ctx = worker,
                    .on_up = on_up,
                    .on_down = on_down,
                    .on_notify = on_notify,
                    .on_control = on_control,
                    .on_listening = on_listening,
                    .on_fatal = on_fatal},
                error);
    return worker->db != NULL;
}
