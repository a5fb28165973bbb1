/*
 * What the metrics ask for, against the real SQL; the operator's connection makes the work.
 */
#include "fixture.h"

#include <stdlib.h>

static struct fixture fixture;
static bool answered;
static size_t row_count;
static struct db_queue_stats_row pair;
static struct db_drain_row version;

static void admin(const char *sql)
{
    free(fixture_admin(&fixture, sql));
}

static void set_up(void)
{
    fixture_migrate(&fixture);
    admin("select pgflow.delete_flow_and_data(flow_slug) from pgflow.flows");
    fixture_up(&fixture, fixture_config(&fixture));
    admin("select pgflow.ensure_deployment('{\"flowSlug\":\"audit_v1\",\"alias\":\"audit\","
          "\"queueMode\":\"routed\",\"routes\":{\"list\":\"audit\"},"
          "\"steps\":[{\"slug\":\"list\"}]}')");
}

static void tear_down(void)
{
    fixture_close(&fixture);
}

TestSuite(stats, .init = set_up, .fini = tear_down);

static void on_queue_stats(void *ctx, const struct db_status *status,
                           const struct db_queue_stats *result)
{
    (void)ctx;
    cr_assert(eq(int, status->outcome, DB_OK), "%s", status->text);
    answered = true;
    row_count = result->count;
    if (row_count == 0)
        return;
    pair = result->rows[0];
    cr_assert(eq(str, (char *)pair.flow, "audit_v1"));
    cr_assert(eq(str, (char *)pair.step, "list"));
}

static void ask_queue(void)
{
    answered = false;
    db_queue_stats(fixture.db, "audit", on_queue_stats, NULL);
    UNTIL(&fixture, answered);
}

Test(stats, an_empty_queue_has_no_pairs)
{
    ask_queue();

    cr_assert(zero(sz, row_count));
}

Test(stats, queued_and_started_tasks_are_counted_by_pair)
{
    admin("select pgflow.start_flows('audit', array['{}', '{}', '{}']::jsonb[])");
    admin("update pgflow.step_tasks set queued_at = queued_at - interval '1 hour'");
    admin("update pgmq.q_audit set vt = vt - interval '1 hour'");
    admin("update pgflow.step_tasks set status = 'started', started_at = clock_timestamp(),"
          " recover_at = clock_timestamp() where message_id = (select min(message_id) from "
          "pgflow.step_tasks)");

    ask_queue();

    cr_assert(eq(sz, row_count, 1));
    cr_assert(eq(i64, pair.queued, 2));
    cr_assert(eq(i64, pair.started, 1));
    cr_assert(ge(i64, pair.oldest_ms, 3600000));
    cr_assert(lt(i64, pair.oldest_ms, 7200000));
}

Test(stats, started_tasks_alone_have_no_age)
{
    admin("select pgflow.start_flow('audit', '{}')");
    admin("update pgflow.step_tasks set status = 'started', started_at = clock_timestamp(),"
          " recover_at = clock_timestamp()");

    ask_queue();

    cr_assert(eq(i64, pair.queued, 0));
    cr_assert(eq(i64, pair.oldest_ms, -1));
}

static void on_drain(void *ctx, const struct db_status *status, const struct db_drain *result)
{
    (void)ctx;
    cr_assert(eq(int, status->outcome, DB_OK), "%s", status->text);
    answered = true;
    cr_assert(eq(sz, result->count, 1), "the flow that is not compiled has no row");
    cr_assert(eq(str, (char *)result->rows[0].flow, "audit_v1"));
    version = result->rows[0];
}

static void ask_drain(void)
{
    const char *const flows[] = {"audit_v1", "unknown"};

    answered = false;
    db_draining_runs(fixture.db, (struct db_texts){flows, 2}, on_drain, NULL);
    UNTIL(&fixture, answered);
}

Test(stats, runs_are_counted_of_versions_that_are_not_active)
{
    admin("select pgflow.start_flow('audit', '{}')");
    ask_drain();
    cr_assert(version.is_active);
    cr_assert(eq(i64, version.started_runs, -1));

    admin("delete from pgflow.flow_aliases");
    ask_drain();
    cr_assert(not(version.is_active));
    cr_assert(eq(i64, version.started_runs, 1));
}
