/*
 * /status.json: what this host knows of itself, and the database's document about queue, versions,
 * workers and failures as it came last. A reader is answered at once and sets off the next question
 * when one is due: after a second, or after twenty times as long as the last answer took.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "worker/telemetry_private.h"

static void put_text(struct buf *text, const char *name, const char *value)
{
    buf_printf(text, "\"%s\":", name);
    buf_put_json_string(text, value, strlen(value));
    buf_putc(text, ',');
}

static void put_count(struct buf *text, const char *name, uint64_t value)
{
    buf_printf(text, "\"%s\":%" PRIu64 ",", name, value);
}

static void put_modules(const struct worker *worker, struct buf *text)
{
    buf_puts(text, "\"modules\":[");
    for (size_t i = 0; i < worker->module_count; i++) {
        const struct deployment *deployment = worker->modules[i].deployment;
        buf_puts(text, i == 0 ? "{" : ",{");
        put_text(text, "flow", deployment->flow);
        put_text(text, "version", deployment->version);
        put_text(text, "buildId", deployment->build_id);
        buf_printf(text, "\"held\":%s}", worker->modules[i].suspended ? "true" : "false");
    }
    buf_putc(text, ']');
}

static void put_host(const struct worker *worker, struct buf *text)
{
    const char *word = NULL;
    bool ready = readiness_judge(worker, uv_hrtime(), &word);

    buf_printf(text, "{\"ready\":%s,", ready ? "true" : "false");
    put_text(text, "word", word);
    put_text(text, "state", worker_state_name(worker->life.state));
    put_text(text, "standbyReason",
             worker->life.state == WORKER_STANDBY ? db_fence_reason_name(worker->standby.reason)
                                                  : "");
    put_text(text, "queue", worker->queue);
    put_text(text, "function", worker->function);
    put_text(text, "worker", worker->identity.id);
    put_text(text, "version", PGFLOW_VERSION);
    put_count(text, "concurrency", (uint64_t)worker->settings->concurrency);
    put_count(text, "busy", worker->tasks.count[STAGE_RUNNING]);
    put_count(text, "waiting", worker->tasks.count[STAGE_WAITING]);
    put_count(text, "unreported", task_count_unreported(&worker->tasks));
    put_modules(worker, text);
    buf_putc(text, '}');
}

static void on_status(void *ctx, const struct db_status *status, const char *json)
{
    struct worker *worker = ctx;
    struct status_cache *cache = &worker->telemetry->status;
    uint64_t now_ns = uv_hrtime();
    uint64_t rest_ns = telemetry_note_answer(worker, status, "host_status", &cache->is_refused);

    cache->in_flight = false;
    cache->next_ns = now_ns + (rest_ns > NS_PER_S ? rest_ns : NS_PER_S);
    char *document = json != NULL ? strdup(json) : NULL;
    if (document == NULL)
        return; /* the last one stays, and its age says so */
    free(cache->document);
    cache->document = document;
    cache->answered_ns = now_ns;
}

static void ask(struct worker *worker)
{
    struct status_cache *cache = &worker->telemetry->status;
    const char *flows[LIMIT_MODULES];

    if (cache->in_flight || !worker->up || worker->life.state == WORKER_STOPPED ||
        uv_hrtime() < cache->next_ns)
        return;
    for (size_t i = 0; i < worker->module_count; i++)
        flows[i] = worker->modules[i].deployment->flow;
    cache->in_flight = true;
    db_host_status(worker->db, worker->queue,
                   (struct db_texts){.items = flows, .count = worker->module_count}, on_status,
                   worker);
}

void telemetry_answer_status(struct worker *worker, struct buf *text)
{
    const struct status_cache *cache = &worker->telemetry->status;
    uint64_t age_ns = uv_hrtime() - cache->answered_ns;

    ask(worker);
    buf_puts(text, "{\"host\":");
    put_host(worker, text);
    if (cache->document != NULL)
        buf_printf(text, ",\"ageMs\":%" PRIu64 ",\"database\":", age_ns / NS_PER_MS);
    else
        buf_puts(text, ",\"ageMs\":null,\"database\":");
    buf_puts(text, cache->document != NULL ? cache->document : "null");
    buf_puts(text, "}\n");
}
