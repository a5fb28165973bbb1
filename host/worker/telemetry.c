#include "worker/telemetry.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log/log.h"
#include "observe/exposition.h"
#include "observe/http.h"
#include "observe/listen_address.h"
#include "observe/status_page.h"
#include "worker/telemetry_private.h"

/* ---- What is served ---- */

static void answer_ready(const struct worker *worker, struct http_response *response)
{
    const char *word = NULL;

    response->status = readiness_judge(worker, uv_hrtime(), &word) ? 200 : 503;
    buf_printf(&response->body, "%s\n", word);
}

static void answer(void *ctx, const char *path, struct http_response *response)
{
    struct worker *worker = ctx;

    if (strcmp(path, "/") == 0) {
        response->status = 200;
        response->content_type = "text/html; charset=utf-8";
        response->policy = status_page_policy;
        buf_put(&response->body, status_page, status_page_size);
    } else if (strcmp(path, "/status.json") == 0) {
        response->status = 200;
        response->content_type = "application/json";
        telemetry_answer_status(worker, &response->body);
    } else if (strcmp(path, "/metrics") == 0) {
        response->status = 200;
        response->content_type = EXPOSITION_CONTENT_TYPE;
        telemetry_render(worker, &response->body);
    } else if (strcmp(path, "/healthz") == 0) {
        response->status = 200; /* that the loop turns is all it says */
        buf_puts(&response->body, "ok\n");
    } else if (strcmp(path, "/readyz") == 0) {
        answer_ready(worker, response);
    } else {
        buf_puts(&response->body, "There is /, /metrics, /healthz and /readyz.\n");
    }
}

/* ---- Life ---- */

static bool make_records(struct worker *worker, struct telemetry *telemetry)
{
    size_t count = registry_pair_count(worker->registry);

    telemetry->metrics = metrics_create(worker->queue);
    telemetry->sample.steps = calloc(count + 1, sizeof *telemetry->sample.steps);
    if (telemetry->metrics == NULL || telemetry->sample.steps == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct deployment_step *step = registry_pair(worker->registry, i);
        if (!metrics_add_step(telemetry->metrics, step->deployment->flow, step->slug))
            return false;
    }
    return true;
}

static bool serve(struct worker *worker, struct telemetry *telemetry, struct error *error)
{
    struct listen_address address;
    char text[LISTEN_ADDRESS_TEXT];

    if (!listen_address_parse(worker->settings->metrics_listen, &address, error))
        return error_wrap(error, "--metrics-listen");
    telemetry->http = http_server_open(&worker->loop, &address, answer, worker, error);
    if (telemetry->http == NULL)
        return error_wrap(error, "--metrics-listen");
    listen_address_print(&address, text);
    log_info("metrics_listening", "serving the status page, /metrics, /healthz and /readyz",
             LOG_QUEUE(worker->queue), LOG_FIELD_TEXT("address", text));
    return true;
}

/* A check serves nothing: the host that it may run beside has the port. */
bool telemetry_open(struct worker *worker, struct error *error)
{

    if (worker->settings->metrics_listen == NULL || worker->settings->check)
        return true;
    worker->telemetry = calloc(1, sizeof *worker->telemetry);
    if (worker->telemetry == NULL || !make_records(worker, worker->telemetry))
        return error_out_of_memory(error);
    worker->telemetry->started_at = (double)clock_calendar_us() / 1e6;
    return serve(worker, worker->telemetry, error);
}

void telemetry_close(struct worker *worker)
{
    struct telemetry *telemetry = worker->telemetry;

    if (telemetry == NULL)
        return;
    worker->telemetry = NULL;
    http_server_close(telemetry->http);
    metrics_destroy(telemetry->metrics);
    free(telemetry->sample.steps);
    free(telemetry->sample.database);
    free(telemetry->status.document);
    free(telemetry);
}

/* ---- What is counted ---- */

void telemetry_call(struct worker *worker, enum metrics_call call, const struct db_status *status)
{
    if (worker->telemetry == NULL || status->outcome == DB_LOST || status->outcome == DB_UNSENT)
        return;
    metrics_observe_call(worker->telemetry->metrics, call, status->elapsed_ns);
}

void telemetry_claimed(struct worker *worker, const struct db_claim *claim)
{
    static const enum metrics_message messages[] = {
        [DB_CLAIM_STARTED] = METRICS_MESSAGE_STARTED,
        [DB_CLAIM_BUSY] = METRICS_MESSAGE_BUSY,
        [DB_CLAIM_STALE] = METRICS_MESSAGE_STALE,
        [DB_CLAIM_FOREIGN] = METRICS_MESSAGE_FOREIGN,
        [DB_CLAIM_SUSPENDED] = METRICS_MESSAGE_HELD,
        [DB_CLAIM_UNSUPPORTED] = METRICS_MESSAGE_UNSUPPORTED};

    if (worker->telemetry == NULL)
        return;
    for (size_t i = 0; i < claim->count; i++)
        if (claim->rows[i]->outcome < sizeof messages / sizeof messages[0])
            metrics_count_message(worker->telemetry->metrics, messages[claim->rows[i]->outcome]);
}

void telemetry_guard(struct worker *worker)
{
    if (worker->telemetry != NULL)
        metrics_count_guard(worker->telemetry->metrics);
}

/* Null for a pair that this host does not serve. */
static struct metrics *metrics_for(const struct worker *worker, const struct task *task)
{
    return worker->telemetry == NULL || task->step == NULL ? NULL : worker->telemetry->metrics;
}

/* From the database's clock how long the message was visible when it was claimed, from ours what
 * came then. The answer's own way is in both, so it is at most a round trip too much. */
void telemetry_task_started(struct worker *worker, const struct task *task)
{
    struct metrics *metrics = metrics_for(worker, task);

    if (metrics == NULL)
        return;
    int64_t visible_ms = task->row->due_in_ms < 0 ? -task->row->due_in_ms : 0;
    metrics_observe_wait(metrics, task->step->pair,
                         (uint64_t)visible_ms * NS_PER_MS + (uv_hrtime() - task->claimed_ns));
}

void telemetry_task_ran(struct worker *worker, const struct task *task,
                        const struct pool_result *result)
{
    struct metrics *metrics = metrics_for(worker, task);

    if (metrics != NULL && result->started)
        metrics_observe_run(metrics, task->step->pair, result->us * 1000);
}

void telemetry_task_ended(struct worker *worker, const struct task *task,
                          enum metrics_outcome outcome)
{
    struct metrics *metrics = metrics_for(worker, task);

    if (metrics != NULL)
        metrics_count_task(metrics, task->step->pair, outcome);
}

void telemetry_task_finished(struct worker *worker, const struct task *task,
                             enum db_finish_outcome outcome)
{
    static const enum metrics_outcome outcomes[] = {
        [DB_FINISH_COMPLETED] = METRICS_COMPLETED, [DB_FINISH_RETRYING] = METRICS_RETRYING,
        [DB_FINISH_FAILED] = METRICS_FAILED,       [DB_FINISH_SKIPPED] = METRICS_SKIPPED,
        [DB_FINISH_AGAIN] = METRICS_AGAIN,         [DB_FINISH_LATE] = METRICS_LATE,
        [DB_FINISH_GONE] = METRICS_GONE,           [DB_FINISH_REFUSED] = METRICS_REFUSED};

    telemetry_task_ended(worker, task, outcomes[outcome]);
}

void telemetry_task_released(struct worker *worker, const struct task *task,
                             enum db_release_outcome outcome)
{
    static const enum metrics_outcome outcomes[] = {[DB_RELEASED] = METRICS_RELEASED,
                                                    [DB_RELEASE_LATE] = METRICS_LATE,
                                                    [DB_RELEASE_GONE] = METRICS_GONE};

    telemetry_task_ended(worker, task, outcomes[outcome]);
}
