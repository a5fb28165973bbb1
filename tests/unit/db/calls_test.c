/*
 * Every typed call against the real SQL.
 */
#include "calls_harness.h"

Test(calls, both_sessions_of_claims_are_warmed_up)
{
    serve();

    CALL(db_warm_up(fixture.db, "audit", DB_CLAIM_BEHIND_RESULTS, on_done, NULL));
    CALL(db_warm_up(fixture.db, "audit", DB_CLAIM_BESIDE_RESULTS, on_done, NULL));
    claim(1);

    cr_assert(eq(sz, seen.row_count, 1));
    cr_assert(eq(int, seen.rows[0]->outcome, DB_CLAIM_EMPTY));
}

Test(calls, schema_version_is_read)
{
    CALL(db_schema_version(fixture.db, on_version, NULL));

    cr_assert(seen.version.is_installed);
    cr_assert(ge(int, seen.version.version, 1));
    cr_assert(ge(int, seen.version.oldest_host, 1));
}

Test(calls, a_missing_schema_is_no_error)
{
    free(fixture_admin(&fixture, "alter schema pgflow rename to elsewhere"));

    CALL(db_schema_version(fixture.db, on_version, NULL));

    free(fixture_admin(&fixture, "alter schema elsewhere rename to pgflow"));
    cr_assert(not(seen.version.is_installed));
}

Test(calls, a_pin_is_told_by_the_fence_and_by_the_registration)
{
    static const char info[] = "{\"protocol\":2,\"modules\":[{\"buildId\":\"a1\"}]}";
    struct db_registration registration = {
        .worker_id = worker, .queue = "audit", .function = "pinned", .info = info};
    CALL(db_worker_fence(fixture.db, "pinned", "audit", info, on_fence, NULL));
    cr_assert(eq(int, seen.fence, DB_FENCE_DISABLED));
    CALL(db_track_worker_function(fixture.db, "pinned", on_done, NULL));
    CALL(db_worker_fence(fixture.db, "pinned", "audit", info, on_fence, NULL));
    cr_assert(eq(int, seen.fence, DB_FENCE_NONE));

    free(fixture_admin(&fixture, "insert into pgflow.function_pins (function_name, deployment,"
                                 " queue_name, module_sets) values ('pinned', 'A', 'audit',"
                                 " '[[\"b2\"]]')"));
    CALL(db_worker_fence(fixture.db, "pinned", "audit", info, on_fence, NULL));
    cr_assert(eq(int, seen.fence, DB_FENCE_WRONG_MODULES));
    cr_assert(ne(ptr, strstr(seen.fence_detail, "exactly b2"), NULL), "%s", seen.fence_detail);
    CALL(db_register_worker(fixture.db, &registration, on_registered, NULL));
    cr_assert(eq(int, seen.registered, DB_REGISTER_WRONG_MODULES));
    registration.function = "other";
    CALL(db_register_worker(fixture.db, &registration, on_registered, NULL));
    cr_assert(eq(int, seen.registered, DB_REGISTER_NOT_IN_MANIFEST));
    free(fixture_admin(&fixture, "delete from pgflow.function_pins"));
}

Test(calls, a_deployment_is_compiled_then_verified_then_refused_when_it_differs)
{
    deploy();
    cr_assert(eq(str, seen.compilation, "compiled"));
    cr_assert(eq(str, seen.activation, "activated"));
    cr_assert(eq(str, seen.active, "audit_v1"));

    deploy();
    cr_assert(eq(str, seen.compilation, "verified"));
    cr_assert(eq(str, seen.activation, "active"));

    char *other = strdup(deployment);
    memcpy(strstr(other, "single"), "map\"  ", 6);
    memcpy(strstr(other, "map\"  "), "map\"   ", 7);
    CALL(db_ensure_deployment(fixture.db, other, NO_TEXTS, on_deployment, NULL));
    cr_assert(eq(str, seen.compilation, "mismatch"));
    cr_assert(gt(sz, seen.differences, 0));
    cr_assert(ne(ptr, strstr(seen.difference, "list"), NULL), "%s", seen.difference);
    free(other);
}

static void on_refused_deployment(void *ctx, const struct db_status *status,
                                  const struct db_deployment *result)
{
    (void)ctx;
    (void)result;
    answered++;
    cr_expect(eq(int, status->outcome, DB_ERROR));
    cr_expect(status->permanent);
    cr_expect(ne(ptr, (void *)status->detail, NULL), "%s", status->text);
}

Test(calls, a_bad_deployment_is_refused_with_its_problems)
{
    CALL(db_ensure_deployment(fixture.db, "{\"flowSlug\":\"2bad\",\"steps\":[]}", NO_TEXTS,
                              on_refused_deployment, NULL));
}

Test(calls, missing_coverage_names_step_reason_and_count)
{
    deploy();
    free(fixture_admin(&fixture, "select pgflow.start_flow('audit', '{}')"));

    CALL(db_missing_coverage(fixture.db, "audit", (struct db_pairs){pairs, 1}, on_coverage, NULL));
    cr_assert(eq(sz, seen.missing, 1));
    cr_assert(eq(str, seen.missing_step, "scan"));
    cr_assert(eq(str, seen.missing_reason, "active"));
    cr_assert(eq(i64, seen.missing_count, 1));

    CALL(db_missing_coverage(fixture.db, "audit", supported, on_coverage, NULL));
    cr_assert(eq(sz, seen.missing, 0));
}

Test(calls, registration_answers_disabled)
{
    struct db_registration registration = {.worker_id = worker,
                                           .queue = "audit",
                                           .function = "host/audit",
                                           .supported = supported,
                                           .info = "{\"host\":\"a\"}"};
    deploy();
    CALL(db_track_worker_function(fixture.db, "host/audit", on_done, NULL));
    free(fixture_admin(&fixture, "select pgflow.disable_worker_functions(array['host/audit'])"));

    CALL(db_register_worker(fixture.db, &registration, on_registered, NULL));
    cr_assert(eq(int, seen.registered, DB_REGISTER_DISABLED));

    registration.standby = true;
    registration.supported = NO_PAIRS;
    CALL(db_register_worker(fixture.db, &registration, on_registered, NULL));
    cr_assert(eq(int, seen.registered, DB_REGISTERED));
}

Test(calls, heartbeat_names_ended_runs)
{
    serve();
    char *run = fixture_admin(&fixture, "select run_id from pgflow.start_flow('audit', '{}')");
    const char *const runs[] = {run};

    CALL(
        db_heartbeat(fixture.db, worker, (struct db_texts){runs, 1}, NO_PAIRS, on_heartbeat, NULL));
    cr_assert(not(seen.heartbeat.is_deprecated));
    cr_assert(not(seen.heartbeat.must_stop));
    cr_assert(eq(sz, seen.heartbeat.ended_runs.count, 0));

    free(fixture_admin(&fixture, "select pgflow.cancel_run(run_id, 'x') from pgflow.runs"));
    free(fixture_admin(&fixture, "select pgflow.deprecate_workers(array['host/audit'])"));
    CALL(db_heartbeat(fixture.db, worker, (struct db_texts){runs, 1}, supported, on_heartbeat,
                      NULL));
    cr_assert(seen.heartbeat.is_deprecated);
    cr_assert(eq(sz, seen.heartbeat.ended_runs.count, 1));
    cr_assert(eq(str, seen.ended, run));
    free(run);
}

Test(calls, offer_of_the_active_version_answers_active)
{
    serve();

    CALL(db_offer_activation(fixture.db, "audit_v1", worker, on_offer, NULL));

    cr_assert(eq(int, seen.offer.offered, DB_OFFER_ACTIVE));
}

Test(calls, an_empty_queue_is_one_empty_row)
{
    serve();

    claim(10);

    cr_assert(eq(sz, seen.row_count, 1));
    cr_assert(eq(int, seen.rows[0]->outcome, DB_CLAIM_EMPTY));
    cr_assert(eq(i64, seen.rows[0]->due_in_ms, -1));
    cr_assert(eq(ptr, (void *)seen.rows[0]->input, NULL));
}

Test(calls, an_unknown_worker_is_fenced_with_the_reason)
{
    deploy();

    claim(10);

    cr_assert(eq(int, seen.rows[0]->outcome, DB_CLAIM_FENCED));
    cr_assert(eq(str, (char *)seen.rows[0]->reason, "unknown"));
}

Test(calls, a_claimed_task_says_since_when_it_was_visible)
{
    serve();
    free(fixture_admin(&fixture, "select pgflow.start_flow('audit', '{}')"));
    free(fixture_admin(&fixture, "update pgmq.q_audit set vt = clock_timestamp() - interval '1 "
                                 "hour'"));

    claim(1);

    cr_assert(le(i64, seen.rows[0]->due_in_ms, -3600000));
    cr_assert(gt(i64, seen.rows[0]->due_in_ms, -7200000));
}

Test(calls, a_run_goes_through_claim_and_finish)
{
    serve();
    char *run = fixture_admin(
        &fixture, "select run_id from pgflow.start_flow('audit', '{\"who\": \"caf\xc3\xa9\"}')");

    claim(10);
    cr_assert(eq(sz, seen.row_count, 1));
    cr_assert(eq(int, seen.rows[0]->outcome, DB_CLAIM_STARTED));
    cr_assert(eq(str, (char *)seen.rows[0]->run_id, run));
    cr_assert(eq(str, (char *)seen.rows[0]->flow, "audit_v1"));
    cr_assert(eq(str, (char *)seen.rows[0]->step, "list"));
    cr_assert(eq(str, (char *)seen.rows[0]->input, "{}"));
    cr_assert(eq(str, (char *)seen.rows[0]->flow_input, "{\"who\": \"caf\xc3\xa9\"}"));
    cr_assert(eq(sz, seen.rows[0]->flow_input_size, strlen(seen.rows[0]->flow_input)));
    cr_assert(eq(int, seen.rows[0]->attempt, 1));
    cr_assert(eq(int, seen.rows[0]->max_attempts, 2));
    cr_assert(eq(int, seen.rows[0]->timeout_s, 60));

    struct db_finish_item list = completed(0, "[\"a\\\\b\\\"\", 9007199254740993, null]");
    CALL(db_finish_tasks(fixture.db, worker, &list, 1, on_finish, NULL));
    cr_assert(eq(int, seen.finish[0].outcome, DB_FINISH_COMPLETED));
    cr_assert(seen.new_work);

    claim(10);
    cr_assert(eq(sz, seen.row_count, 3));
    struct db_finish_item scans[3];
    for (size_t i = 0; i < 3; i++) {
        cr_assert(eq(str, (char *)seen.rows[i]->flow_input, "{\"who\": \"caf\xc3\xa9\"}"));
        scans[i] = completed(i, seen.rows[i]->input);
    }
    CALL(db_finish_tasks(fixture.db, worker, scans, 3, on_finish, NULL));
    cr_assert(eq(int, seen.finish[2].outcome, DB_FINISH_COMPLETED));
    cr_assert(not(seen.new_work));

    char *output = fixture_admin(&fixture, "select output from pgflow.runs");
    cr_assert(eq(str, output, "{\"scan\": [\"a\\\\b\\\"\", 9007199254740993, null]}"));
    CALL(db_finish_tasks(fixture.db, worker, scans, 3, on_finish, NULL));
    cr_assert(eq(int, seen.finish[0].outcome, DB_FINISH_AGAIN));
    free(output);
    free(run);
}

Test(calls, rows_outlive_the_answer_alone)
{
    serve();
    free(fixture_admin(&fixture, "select pgflow.start_flows('audit', array['{\"n\":1}', "
                                 "'{\"n\":2}']::jsonb[])"));
    claim(10);
    cr_assert(eq(sz, seen.row_count, 2));

    db_claim_row_drop(seen.rows[0]);
    seen.rows[0] = NULL;

    cr_assert(eq(str, (char *)seen.rows[1]->flow_input, "{\"n\": 2}"));
}

Test(calls, mixed_results_are_answered_by_item)
{
    serve();
    free(fixture_admin(&fixture, "select pgflow.start_flows('audit', array['1', '2', '3', "
                                 "'4']::jsonb[])"));
    claim(10);
    cr_assert(eq(sz, seen.row_count, 4));

    struct db_finish_item items[4] = {
        {.task = ref(0),
         .result = DB_RESULT_FAILED,
         .error = "it \"broke\" {a,b}",
         .retry_after_s = 30},
        {.task = ref(1), .result = DB_RESULT_PERMANENT, .error = "never", .retry_after_s = -1},
        completed(2, "[1e200000]"),
        completed(3, "[]"),
    };
    CALL(db_finish_tasks(fixture.db, worker, items, 4, on_finish, NULL));

    cr_assert(eq(int, seen.finish[0].outcome, DB_FINISH_RETRYING));
    cr_assert(eq(str, seen.detail, "30")); /* seconds until it is tried again */
    char *stored = fixture_admin(
        &fixture, "select error_message from pgflow.step_tasks where status = 'queued'");
    cr_assert(eq(str, stored, "it \"broke\" {a,b}"));
    free(stored);
    cr_assert(eq(int, seen.finish[1].outcome, DB_FINISH_FAILED));
    cr_assert(eq(int, seen.finish[2].outcome, DB_FINISH_REFUSED));
    cr_assert(eq(int, seen.finish[3].outcome, DB_FINISH_COMPLETED));
}

Test(calls, finish_and_claim_travel_together)
{
    serve();
    free(fixture_admin(&fixture, "select pgflow.start_flow('audit', '{}')"));
    claim(10);
    struct db_finish_item list = completed(0, "[1, 2]");
    size_t before = seen.row_count;

    db_finish_tasks(fixture.db, worker, &list, 1, on_finish, NULL);
    db_read_and_claim_tasks(fixture.db, "audit", 10, 5, worker, NO_PAIRS, DB_CLAIM_BEHIND_RESULTS,
                            on_claim, NULL);
    cr_assert(eq(sz, db_calls_pending(fixture.db), 2));
    struct db_claim_row *first = seen.rows[0];
    UNTIL(&fixture, db_calls_pending(fixture.db) == 0);

    cr_assert(eq(sz, before, 1));
    cr_assert(eq(sz, seen.row_count, 2), "the claim saw what the finish made ready");
    db_claim_row_drop(first);
}

Test(calls, unfinished_tasks_are_released)
{
    serve();
    free(fixture_admin(&fixture, "select pgflow.start_flows('audit', array['1', '2', "
                                 "'3']::jsonb[])"));
    claim(10);
    struct db_release_item items[2] = {{ref(0), false}, {ref(1), true}};
    items[1].task.claim_no += 7;

    CALL(db_release_tasks(fixture.db, worker, items, 2, 0, on_release, NULL));
    cr_assert(eq(int, seen.released[0], DB_RELEASED));
    cr_assert(eq(int, seen.released[1], DB_RELEASE_LATE));

    struct db_task_ref held = ref(2);
    CALL(db_release_tasks_except(fixture.db, worker, &held, 1, on_count, NULL));
    cr_assert(eq(int, seen.count, 1));
}

Test(calls, maintain_and_stop_are_quiet)
{
    serve();

    CALL(db_maintain(fixture.db, on_count, NULL));
    CALL(db_mark_worker_stopped(fixture.db, worker, on_done, NULL));
    claim(1);

    cr_assert(eq(int, seen.count, 0));
    cr_assert(eq(str, (char *)seen.rows[0]->reason, "stopped"));
}

Test(calls, a_16_mib_output_becomes_a_16_mib_input)
{
    size_t size = 16 * (size_t)LIMIT_MIB;
    char *output = malloc(size + 1);
    memset(output, '"', size);
    for (size_t i = 3; i < size - 2; i++)
        output[i] = i % 2 ? '\\' : '"';
    memcpy(output, "[\"x", 3);
    memcpy(output + size - 3, "x\"]", 4);
    serve();
    free(fixture_admin(&fixture, "select pgflow.start_flow('audit', '{}')"));
    claim(10);

    struct db_finish_item list = completed(0, output);
    CALL(db_finish_tasks(fixture.db, worker, &list, 1, on_finish, NULL));
    cr_assert(eq(int, seen.finish[0].outcome, DB_FINISH_COMPLETED), "%s", seen.detail);
    claim(10);

    cr_assert(eq(sz, seen.row_count, 1));
    cr_assert(eq(sz, seen.rows[0]->input_size, size - 2));
    cr_assert(eq(int, memcmp(seen.rows[0]->input, output + 1, size - 2), 0));
    free(output);
}
