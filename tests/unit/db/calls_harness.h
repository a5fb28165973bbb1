/*
 * What the tests of calls share: what the callbacks saw, and how a queue with work comes about.
 * For calls_test.c alone.
 */
#ifndef PGFLOW_DB_CALLS_HARNESS_H
#define PGFLOW_DB_CALLS_HARNESS_H

#include "fixture.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static struct fixture fixture;
static char worker[LIMIT_UUID_TEXT + 1];
static int answered;

#define NO_PAIRS ((struct db_pairs){NULL, 0})
#define NO_TEXTS ((struct db_texts){NULL, 0})

static const char deployment[] =
    "{\"flowSlug\":\"audit_v1\",\"alias\":\"audit\",\"queueMode\":\"routed\","
    "\"routes\":{\"list\":\"audit\",\"scan\":\"audit\"},"
    "\"steps\":[{\"slug\":\"list\",\"stepType\":\"single\",\"dependencies\":[]},"
    "{\"slug\":\"scan\",\"stepType\":\"map\",\"dependencies\":[\"list\"],"
    "\"wantsFlowInput\":true}],\"options\":{\"maxAttempts\":2,\"baseDelay\":0}}";

static void expect_ok(const struct db_status *status)
{
    cr_assert(eq(int, status->outcome, DB_OK), "%s %s", status->sqlstate, status->text);
    answered++;
}

static void on_done(void *ctx, const struct db_status *status)
{
    (void)ctx;
    expect_ok(status);
}

/* Calls, and waits for the answer. */
#define CALL(call)                                                                                 \
    do {                                                                                           \
        int before = answered;                                                                     \
        call;                                                                                      \
        UNTIL(&fixture, answered > before);                                                        \
    } while (0)

/* ---- What the callbacks saw ---- */

static struct {
    struct db_schema_version version;
    enum db_fence_reason fence;
    char fence_detail[256];
    char compilation[32], activation[32], active[64], difference[256];
    size_t differences;
    enum db_registered registered;
    struct db_heartbeat heartbeat;
    char ended[64];
    struct db_offer offer;
    size_t missing;
    char missing_step[64], missing_reason[64];
    int64_t missing_count;
    struct db_claim_row *rows[20];
    size_t row_count;
    struct db_finish_answer finish[20];
    char detail[256];
    bool new_work;
    enum db_release_outcome released[20];
    int count;
} seen;

static void on_version(void *ctx, const struct db_status *status,
                       const struct db_schema_version *result)
{
    (void)ctx;
    expect_ok(status);
    seen.version = *result;
}

static void on_fence(void *ctx, const struct db_status *status, const struct db_fence *result)
{
    (void)ctx;
    expect_ok(status);
    seen.fence = result->reason;
    snprintf(seen.fence_detail, sizeof seen.fence_detail, "%s",
             result->detail != NULL ? result->detail : "");
}

static void on_deployment(void *ctx, const struct db_status *status,
                          const struct db_deployment *result)
{
    (void)ctx;
    expect_ok(status);
    snprintf(seen.compilation, sizeof seen.compilation, "%s", result->compilation);
    snprintf(seen.activation, sizeof seen.activation, "%s", result->activation);
    snprintf(seen.active, sizeof seen.active, "%s", result->active_flow);
    seen.differences = result->differences.count;
    if (seen.differences > 0)
        snprintf(seen.difference, sizeof seen.difference, "%s", result->differences.items[0]);
}

static void on_coverage(void *ctx, const struct db_status *status, const struct db_coverage *result)
{
    (void)ctx;
    expect_ok(status);
    seen.missing = result->count;
    if (result->count == 0)
        return;
    snprintf(seen.missing_step, sizeof seen.missing_step, "%s", result->rows[0].step);
    snprintf(seen.missing_reason, sizeof seen.missing_reason, "%s",
             result->rows[0].reasons.items[0]);
    seen.missing_count = result->rows[0].counts != NULL ? result->rows[0].counts[0] : -1;
}

static void on_registered(void *ctx, const struct db_status *status,
                          const enum db_registered *result)
{
    (void)ctx;
    expect_ok(status);
    seen.registered = *result;
}

static void on_heartbeat(void *ctx, const struct db_status *status,
                         const struct db_heartbeat *result)
{
    (void)ctx;
    expect_ok(status);
    seen.heartbeat = *result;
    if (result->ended_runs.count > 0)
        snprintf(seen.ended, sizeof seen.ended, "%s", result->ended_runs.items[0]);
}

static void on_offer(void *ctx, const struct db_status *status, const struct db_offer *result)
{
    (void)ctx;
    expect_ok(status);
    seen.offer = *result;
}

static void on_count(void *ctx, const struct db_status *status, const int *result)
{
    (void)ctx;
    expect_ok(status);
    seen.count = *result;
}

static void on_claim(void *ctx, const struct db_status *status, const struct db_claim *result)
{
    (void)ctx;
    expect_ok(status);
    seen.row_count = result->count;
    for (size_t i = 0; i < result->count; i++) {
        seen.rows[i] = result->rows[i];
        db_claim_row_own(result->rows[i]);
    }
}

static void on_finish(void *ctx, const struct db_status *status, const struct db_finished *result)
{
    (void)ctx;
    expect_ok(status);
    memcpy(seen.finish, result->answers, result->count * sizeof result->answers[0]);
    seen.new_work = result->new_work;
    if (result->answers[0].detail != NULL)
        snprintf(seen.detail, sizeof seen.detail, "%s", result->answers[0].detail);
}

static void on_release(void *ctx, const struct db_status *status, const struct db_released *result)
{
    (void)ctx;
    expect_ok(status);
    memcpy(seen.released, result->outcomes, result->count * sizeof result->outcomes[0]);
}

/* ---- Arranging ---- */

static void set_up(void)
{
    fixture_migrate(&fixture);
    free(
        fixture_admin(&fixture, "select pgflow.delete_flow_and_data(flow_slug) from pgflow.flows"));
    free(fixture_admin(&fixture, "delete from pgflow.workers"));
    free(fixture_admin(&fixture, "delete from pgflow.worker_functions"));
    struct db_config config = fixture_config(&fixture);
    config.connections = 2;
    fixture_up(&fixture, config);
    cr_assert(text_make_uuid(worker));
}

static void tear_down(void)
{
    for (size_t i = 0; i < seen.row_count; i++)
        db_claim_row_drop(seen.rows[i]);
    fixture_close(&fixture);
}

TestSuite(calls, .init = set_up, .fini = tear_down);

static const struct db_pair pairs[] = {{"audit_v1", "list"}, {"audit_v1", "scan"}};
static const struct db_pairs supported = {pairs, 2};

static void deploy(void)
{
    CALL(db_ensure_deployment(fixture.db, deployment, NO_TEXTS, on_deployment, NULL));
}

static void serve(void)
{
    struct db_registration registration = {
        .worker_id = worker, .queue = "audit", .function = "host/audit", .supported = supported};
    deploy();
    CALL(db_register_worker(fixture.db, &registration, on_registered, NULL));
    cr_assert(eq(int, seen.registered, DB_REGISTERED));
}

static void claim(int quantity)
{
    for (size_t i = 0; i < seen.row_count; i++)
        db_claim_row_drop(seen.rows[i]);
    CALL(db_read_and_claim_tasks(fixture.db, "audit", quantity, 5, worker, NO_PAIRS,
                                 DB_CLAIM_BEHIND_RESULTS, on_claim, NULL));
}

static struct db_task_ref ref(size_t row)
{
    const struct db_claim_row *r = seen.rows[row];
    return (struct db_task_ref){r->run_id, r->step, r->task_index, r->claim_no};
}

static struct db_finish_item completed(size_t row, const char *output)
{
    return (struct db_finish_item){.task = ref(row),
                                   .result = DB_RESULT_COMPLETED,
                                   .output = output,
                                   .output_size = strlen(output),
                                   .retry_after_s = -1};
}

#endif
