/*
 * What a host does by time and by room: when a heartbeat is withheld, when maintain() may be
 * called, which results are kept while the database is away.
 */
#include "worker/worker_private.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

static struct settings settings;
static struct worker *worker;

static void setup(void)
{
    static const char descriptor[] = "{\"flowSlug\":\"f\",\"queueMode\":\"flow\",\"steps\":["
                                     "{\"slug\":\"s\",\"queue\":\"f\"}]}";
    struct error error;

    settings = (struct settings){.concurrency = 2, .batch_size = 2};
    worker = calloc(1, sizeof *worker);
    task_table_init(&worker->tasks);
    worker->settings = &settings;
    worker->life.state = WORKER_RUNNING;
    worker->registry = registry_create(&error);
    cr_assert(registry_add(worker->registry,
                           &(struct registry_module){.file = "f.so", .descriptor = descriptor},
                           &error));
    cr_assert(registry_bind_queue(worker->registry, NULL, &error));
    worker->up = true;
    worker->up_since_ns = 100 * NS_PER_S;
    worker->claims.answered_ns = 100 * NS_PER_S;
}

static void teardown(void)
{
    while (TAILQ_FIRST(&worker->tasks.tasks) != NULL)
        task_remove(&worker->tasks, TAILQ_FIRST(&worker->tasks.tasks));
    registry_destroy(worker->registry);
    free(worker);
}

TestSuite(heartbeat, .init = setup, .fini = teardown);
TestSuite(readiness, .init = setup, .fini = teardown);
TestSuite(maintenance, .init = setup, .fini = teardown);
TestSuite(results, .init = setup, .fini = teardown);

static void occupy(uint32_t slots)
{
    for (uint32_t i = 0; i < slots; i++)
        cr_assert(ne(ptr, task_add(&worker->tasks, NULL, NULL, 0), NULL));
}

Test(heartbeat, is_withheld_when_no_claim_was_answered_for_half_a_minute)
{
    cr_assert(heartbeat_is_due(worker, 130 * NS_PER_S - 1));
    cr_assert(not(heartbeat_is_due(worker, 130 * NS_PER_S)));
}

Test(heartbeat, time_before_the_next_poll_does_not_count)
{
    worker->claims.next_poll_ns = 3700 * NS_PER_S;

    cr_assert(heartbeat_is_due(worker, 3730 * NS_PER_S - 1));
    cr_assert(not(heartbeat_is_due(worker, 3730 * NS_PER_S)));
}

Test(heartbeat, claim_in_flight_counts_whatever_the_poll_interval)
{
    worker->claims.next_poll_ns = 3700 * NS_PER_S;
    worker->claims.in_flight = true;

    cr_assert(not(heartbeat_is_due(worker, 130 * NS_PER_S)));
}

Test(heartbeat, busy_slots_alone_never_silence_it)
{
    occupy(2);

    cr_assert(heartbeat_is_due(worker, 10000 * NS_PER_S));
}

Test(heartbeat, one_free_slot_is_enough_to_be_stuck)
{
    occupy(1);

    cr_assert(not(heartbeat_is_due(worker, 10000 * NS_PER_S)));
}

Test(heartbeat, goes_on_while_draining_and_standing_by)
{
    worker->life.state = WORKER_DRAINING;
    cr_assert(heartbeat_is_due(worker, 10000 * NS_PER_S));

    worker->life.state = WORKER_STANDBY;
    cr_assert(heartbeat_is_due(worker, 10000 * NS_PER_S));
}

Test(heartbeat, goes_on_while_every_module_is_held)
{
    worker->suspended_count = 1;

    cr_assert(heartbeat_is_due(worker, 10000 * NS_PER_S));
}

static void expect_word(bool ready, const char *expected)
{
    const char *word = NULL;

    cr_assert(eq(int, readiness_judge(worker, 110 * NS_PER_S, &word), ready), "%s", word);
    cr_assert(eq(str, (char *)word, (char *)expected));
}

static void register_row(bool standby)
{
    memcpy(worker->identity.id, "x", 2);
    worker->identity.standby = standby;
    worker->heartbeat.answered_ns = 100 * NS_PER_S;
}

Test(readiness, is_there_while_claiming)
{
    register_row(false);

    expect_word(true, "claiming");
}

Test(readiness, is_there_while_standing_by_with_a_row_of_its_own)
{
    worker->life.state = WORKER_STANDBY;
    register_row(false);
    expect_word(false, "not registered yet");

    register_row(true);
    expect_word(true, "standing by");
    standby_explain(worker, &(struct db_fence){.reason = DB_FENCE_DISABLED});
    expect_word(true, "standing by: the worker function is disabled");
}

Test(readiness, is_not_there_while_other_code_is_asked_for)
{
    worker->life.state = WORKER_STANDBY;
    register_row(true);

    standby_explain(worker, &(struct db_fence){.reason = DB_FENCE_WRONG_MODULES,
                                               .detail = "deployment \"A\" gives it to a1"});
    expect_word(false, "standing by: wrong_modules: deployment \"A\" gives it to a1");

    standby_explain(worker, &(struct db_fence){.reason = DB_FENCE_NOT_IN_MANIFEST});
    expect_word(false, "standing by: not_in_manifest: no applied manifest names the function for "
                       "this queue");

    standby_explain(worker, &(struct db_fence){.reason = DB_FENCE_WRONG_MODULES,
                                               .detail = "deployment \"B\" waits for this code",
                                               .stands_by_for = "B"});
    expect_word(true, "standing by: deployment \"B\" waits for this code");
}

Test(readiness, goes_with_the_database_in_every_state)
{
    register_row(false);
    worker->up = false;

    expect_word(false, "no database");
    worker->life.state = WORKER_STANDBY;
    expect_word(false, "no database");
}

Test(readiness, begins_when_the_start_came_through_and_ends_with_the_drain)
{
    register_row(false);

    worker->life.state = WORKER_STARTING;
    expect_word(false, "starting");
    worker->life.state = WORKER_DRAINING;
    expect_word(false, "stopping");
}

Test(readiness, goes_when_the_heartbeat_is_withheld)
{
    register_row(false);
    worker->heartbeat.silent = true;

    expect_word(false, "no claim was answered for 30 s");
}

Test(readiness, goes_when_the_database_must_take_the_worker_for_gone)
{
    register_row(false);

    worker->heartbeat.answered_ns = 95 * NS_PER_S + 1;
    expect_word(true, "claiming");
    worker->heartbeat.answered_ns = 95 * NS_PER_S;
    expect_word(false, "no heartbeat was answered for 15 s");
}

Test(maintenance, waits_for_half_a_minute_of_connection)
{
    worker->maintenance.due = true;

    cr_assert(not(maintenance_may_run(worker, 130 * NS_PER_S - 1)));
    cr_assert(maintenance_may_run(worker, 130 * NS_PER_S));
}

Test(maintenance, waits_for_the_results_that_were_there_when_it_became_due)
{
    occupy(2);
    struct task *task = TAILQ_FIRST(&worker->tasks.tasks);
    task_decide(&worker->tasks, task, VERDICT_COMPLETED, "1", 1);
    worker->maintenance.due = true;
    worker->maintenance.after_result = worker->tasks.results_made;
    cr_assert(not(maintenance_may_run(worker, 1000 * NS_PER_S)));

    task_decide(&worker->tasks, TAILQ_NEXT(task, link), VERDICT_COMPLETED, "2", 1);
    task_remove(&worker->tasks, task);
    cr_assert(maintenance_may_run(worker, 1000 * NS_PER_S));
}

Test(maintenance, does_not_wait_for_results_of_a_run_that_is_locked)
{
    occupy(2);
    struct task *task = TAILQ_FIRST(&worker->tasks.tasks);
    task_decide(&worker->tasks, task, VERDICT_COMPLETED, "1", 1);
    worker->maintenance.due = true;
    worker->maintenance.after_result = worker->tasks.results_made;
    cr_assert(not(maintenance_may_run(worker, 1000 * NS_PER_S)));

    task_isolate(&worker->tasks, task, 1);
    cr_assert(maintenance_may_run(worker, 1000 * NS_PER_S));
}

Test(maintenance, is_for_hosts_that_serve_or_stand_by)
{
    worker->maintenance.due = true;

    worker->life.state = WORKER_STANDBY;
    cr_assert(maintenance_may_run(worker, 1000 * NS_PER_S));
    worker->life.state = WORKER_DRAINING;
    cr_assert(not(maintenance_may_run(worker, 1000 * NS_PER_S)));
}

Test(maintenance, is_not_called_while_the_database_is_away)
{
    worker->maintenance.due = true;
    worker->up = false;

    cr_assert(not(maintenance_may_run(worker, 1000 * NS_PER_S)));
}

Test(connection, deadline_grows_with_the_payload_limit)
{
    struct settings usual = {.max_payload = 16}, large = {.max_payload = 200};

    cr_assert(eq(int, answer_deadline_ms(&usual), LIMIT_DB_DEADLINE_MS));
    cr_assert(eq(int, answer_deadline_ms(&large), 200000));
}

/* What becomes of a completed task with so much output, and so much room left. */
static enum task_verdict verdict_in_room(bool up, size_t room, size_t size)
{
    static struct db_claim_row row = {.flow = "f", .step = "s", .run_id = "r"};
    struct pool_result result = {
        .outcome = POOL_COMPLETED, .started = true, .output = "[1, 2]", .output_size = size};
    struct task *task = task_add(&worker->tasks, &row, NULL, 0);

    worker->life.state = WORKER_STOPPED; /* there is no loop to wake */
    worker->up = up;
    worker->tasks.result_bytes = (size_t)LIMIT_RESULTS_BUFFERED_MIB * LIMIT_MIB - room;
    results_take(worker, task, &result);
    task->row = NULL; /* none of the database's */
    return task->verdict;
}

Test(results, of_256_mib_are_kept_while_the_database_is_away)
{
    cr_assert(eq(int, verdict_in_room(false, 6, 6), VERDICT_COMPLETED));
}

Test(results, beyond_256_mib_are_given_back_while_the_database_is_away)
{
    cr_assert(eq(int, verdict_in_room(false, 5, 6), VERDICT_RELEASE));
}

Test(results, beyond_256_mib_are_kept_while_the_database_takes_them)
{
    cr_assert(eq(int, verdict_in_room(true, 5, 6), VERDICT_COMPLETED));
}
