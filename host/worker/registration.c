/*
 * Rows in pgflow.workers. Each registration has a fresh id and names this process's earlier row, so
 * that the database can tell a process that goes on from one that comes back after it was replaced.
 */
#include "worker/worker_private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"
#include "db/migrate.h"
#include "log/log.h"
#include "worker/telemetry.h"

enum { INFO_MAX = 1024 * 1024 };
/* Which answers of the database this host knows: 2 has wrong_modules and not_in_manifest. */
enum { PROTOCOL = 2 };

static void put_member(struct buf *json, const char *name, const char *value)
{
    buf_printf(json, "\"%s\":", name);
    buf_put_json_string(json, value, strlen(value));
}

static void put_module(struct buf *json, const struct deployment *deployment)
{
    char file[4096];

    buf_putc(json, '{');
    put_member(json, "flow", deployment->flow);
    buf_putc(json, ',');
    text_clean(file, sizeof file, deployment->file, strlen(deployment->file));
    put_member(json, "file", file);
    buf_putc(json, ',');
    put_member(json, "buildId", deployment->build_id);
    buf_putc(json, ',');
    put_member(json, "sha256", deployment->sha256);
    buf_putc(json, '}');
}

/* The schema versions that this host can serve (pgflow._hosts_unfit_for). A later one says by its
 * oldest_host whether this host goes on. */
static void put_schema_range(struct buf *json)
{
    int version = migrate_own_version();
    buf_printf(json, ",\"schema\":{\"oldest\":%d,\"newest\":%d}", version, version);
}

bool registration_make_info(struct worker *worker, struct error *error)
{
    char host[256] = "";
    struct buf json;

    (void)gethostname(host, sizeof host - 1);
    buf_init(&json, INFO_MAX);
    buf_putc(&json, '{');
    put_member(&json, "host", host);
    buf_printf(&json, ",\"pid\":%ld,", (long)getpid());
    put_member(&json, "version", PGFLOW_VERSION);
    buf_printf(&json, ",\"protocol\":%d", PROTOCOL);
    put_schema_range(&json);
    /* It takes the idle locks, or it polls: a start need not notify it unasked. */
    buf_puts(&json, ",\"idleLocks\":true,\"modules\":[");
    for (size_t i = 0; i < worker->module_count; i++) {
        if (i > 0)
            buf_putc(&json, ',');
        put_module(&json, worker->modules[i].deployment);
    }
    buf_puts(&json, "]}");
    worker->info = buf_detach(&json, NULL);
    return worker->info != NULL || error_out_of_memory(error);
}

void registration_send(struct worker *worker, bool standby, db_register_done done)
{
    struct identity *identity = &worker->identity;
    size_t pairs = standby ? 0 : registry_pair_count(worker->registry);

    if (identity->pending[0] == '\0' && !text_make_uuid(identity->pending)) {
        worker_fail(worker, ERROR_INTERNAL, "the system gives no random bytes for a worker id");
        return;
    }
    db_register_worker(
        worker->db,
        &(struct db_registration){.worker_id = identity->pending,
                                  .queue = worker->queue,
                                  .function = worker->function,
                                  .supported = {.items = worker->pairs, .count = pairs},
                                  .info = worker->info,
                                  .standby = standby,
                                  .suspended = {.items = worker->suspended,
                                                .count = standby ? 0 : worker->suspended_count},
                                  .predecessor = identity->id[0] != '\0' ? identity->id : NULL},
        done, worker);
}

void registration_take(struct worker *worker, bool standby)
{
    struct identity *identity = &worker->identity;

    memcpy(identity->id, identity->pending, sizeof identity->id);
    identity->pending[0] = '\0';
    identity->standby = standby;
    identity->version++;
    worker->claims.answered_ns = uv_hrtime();
    worker->heartbeat.answered_ns = worker->claims.answered_ns;
    log_info("registered", standby ? "registered, standing by" : "registered",
             LOG_QUEUE(worker->queue), LOG_WORKER(identity->id),
             LOG_FIELD_TEXT("function", worker->function));
    telemetry_sample(worker);
}
