/*
 * The database as the worker sees it: up, down, or never reached.
 */
#include "worker/worker_private.h"

#include <stdio.h>
#include <string.h>

#include "log/log.h"

enum { DEADLINE_MS_PER_MIB = 1000 };

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
    if (worker->settings->check && first)
        check_begin(worker);
    else if (worker->life.state == WORKER_STARTING)
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

/* PostgreSQL reads, compresses and copies a large output at about 3 MiB a second on a small
 * machine: a deadline for ordinary payloads would be crossed by every attempt to report one. */
int connection_deadline_ms(const struct settings *settings)
{
    int for_payload = settings->max_payload * DEADLINE_MS_PER_MIB;

    return for_payload > LIMIT_DB_DEADLINE_MS ? for_payload : LIMIT_DB_DEADLINE_MS;
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
                    .statement_deadline_ms = connection_deadline_ms(settings),
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

/* object_not_in_prerequisite_state is how pgflow's own functions say no: a queue of somebody else,
 * a name that is taken. Its class is not permanent by itself, but that one is. */
static bool is_permanent(const struct db_status *status)
{
    return status->permanent || strcmp(status->sqlstate, "55000") == 0;
}

/* Not sent, or answered without memory to read it: the host's own trouble, and gone with it. */
static int exit_code(const struct db_status *status)
{
    bool own = status->outcome == DB_UNSENT || strcmp(status->sqlstate, "53200") == 0;
    return own ? ERROR_INTERNAL : ERROR_CONFIG;
}

/* What mends a refusal for good, where the server's words do not say. */
static const char *remedy_of(const struct db_status *status)
{
    if (strcmp(status->sqlstate, "42501") == 0)
        return "; the login of a host needs the role pgflow_worker (grant pgflow_worker to it), "
               "and "
               "the role its rights (as the owner of the schema: select pgflow._apply_roles()); "
               "pgflowctl doctor names what is missing";
    return "";
}

bool database_answered(struct worker *worker, const struct db_status *status, const char *what)
{
    if (status->outcome == DB_OK)
        return true;
    if (is_permanent(status)) {
        worker_fail(worker, exit_code(status), "%s was refused: %s%s%s%s%s%s%s", what, status->text,
                    status->sqlstate[0] != '\0' ? " (SQLSTATE " : "", status->sqlstate,
                    status->sqlstate[0] != '\0' ? ")" : "", remedy_of(status),
                    status->detail != NULL ? "\n" : "",
                    status->detail != NULL ? status->detail : "");
        return false;
    }
    log_warn("call_failed", "a database call failed; it is tried again", LOG_QUEUE(worker->queue),
             LOG_FIELD_TEXT("call", what), LOG_ERROR(status->text));
    return false;
}
