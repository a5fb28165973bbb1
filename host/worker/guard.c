#include "worker/guard.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "log/log.h"
#include "worker/telemetry.h"
#include "worker/worker_private.h"

static bool is_first_of_pair(const struct db_claim *claim, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (claim->rows[i]->outcome == DB_CLAIM_UNSUPPORTED &&
            strcmp(claim->rows[i]->flow, claim->rows[at]->flow) == 0 &&
            strcmp(claim->rows[i]->step, claim->rows[at]->step) == 0)
            return false;
    return true;
}

static void put_unsupported(const struct db_claim *claim, struct buf *ids, struct buf *pairs)
{
    for (size_t i = 0; i < claim->count; i++) {
        const struct db_claim_row *row = claim->rows[i];
        if (row->outcome != DB_CLAIM_UNSUPPORTED)
            continue;
        buf_printf(ids, "%s%lld", ids->size == 0 ? "" : " ", (long long)row->msg_id);
        if (is_first_of_pair(claim, i))
            buf_printf(pairs, "%s%s.%s", pairs->size == 0 ? "" : " ", row->flow, row->step);
    }
}

/* What the host carries, so that a host with the wrong modules is found by its log line alone. */
static void put_modules(const struct worker *worker, struct buf *modules)
{
    for (size_t i = 0; i < worker->module_count; i++) {
        const struct deployment *deployment = worker->modules[i].deployment;
        bool has_id = deployment->build_id[0] != '\0';
        buf_printf(modules, "%s%s=%s", i == 0 ? "" : " ", deployment->flow,
                   has_id ? deployment->build_id : deployment->sha256);
    }
}

static void log_guard(const struct worker *worker, const char *ids, const char *pairs)
{
    char host[256] = "";
    struct buf modules;

    (void)gethostname(host, sizeof host - 1);
    buf_init(&modules, LIMIT_LOG_VALUE);
    put_modules(worker, &modules);
    log_fatal("unsupported",
              "the queue holds work that this host has no handler for; nothing of the batch was "
              "started, the function is paused",
              LOG_QUEUE(worker->queue), LOG_WORKER(worker->identity.id),
              LOG_FIELD_TEXT("function", worker->function), LOG_FIELD_TEXT("msg_ids", ids),
              LOG_FIELD_TEXT("pairs", pairs), LOG_FIELD_TEXT("host", host),
              LOG_FIELD_INT("pid", getpid()), LOG_FIELD_TEXT("modules", modules.data));
    buf_free(&modules);
}

bool guard_report(struct worker *worker, const struct db_claim *claim)
{
    struct buf ids, pairs;

    buf_init(&ids, LIMIT_LOG_VALUE);
    buf_init(&pairs, LIMIT_LOG_VALUE / 2);
    put_unsupported(claim, &ids, &pairs);
    bool unsupported = ids.size > 0;
    if (unsupported) {
        log_guard(worker, ids.data, pairs.data);
        telemetry_guard(worker);
        worker_fail(worker, ERROR_CONFIG,
                    "queue %s holds work of %s, which no given module can do. Start the host with "
                    "those modules too, or repair the route; then enable the function again: "
                    "select pgflow.enable_worker_function('%s')",
                    worker->queue, pairs.data, worker->function);
    }
    buf_free(&ids);
    buf_free(&pairs);
    return unsupported;
}
