#include "observe/exposition.h"
#include "observe/metrics.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#define MS UINT64_C(1000000)
#define S (1000 * MS)

static struct metrics *metrics;
static struct buf text;

static void setup(void)
{
    metrics = metrics_create("q");
    cr_assert(metrics_add_step(metrics, "f_v1", "scan"));
    cr_assert(metrics_add_step(metrics, "f_v2", "scan"));
    buf_init(&text, LIMIT_MIB);
}

static void teardown(void)
{
    metrics_destroy(metrics);
    buf_free(&text);
}

TestSuite(metrics, .init = setup, .fini = teardown);

static void expect_line(const char *line)
{
    buf_clear(&text);
    metrics_render(metrics, &text);
    cr_assert(buf_ok(&text));
    const char *found = strstr(text.data, line);
    cr_assert(found != NULL && found[strlen(line)] == '\n' && found[-1] == '\n',
              "no line %s in\n%s", line, text.data);
}

static void expect_no(const char *part)
{
    buf_clear(&text);
    metrics_render(metrics, &text);
    cr_assert(eq(ptr, strstr(text.data, part), NULL), "%s in\n%s", part, text.data);
}

Test(metrics, usual_outcomes_are_there_before_the_first_task)
{
    expect_line("pgflow_tasks_total{queue=\"q\",flow=\"f_v2\",step=\"scan\",outcome=\"failed\"} 0");
    expect_no("outcome=\"late\"");
}

Test(metrics, tasks_are_counted_by_step_and_outcome)
{
    metrics_count_task(metrics, 1, METRICS_LATE);
    metrics_count_task(metrics, 1, METRICS_LATE);
    metrics_count_task(metrics, 0, METRICS_COMPLETED);

    expect_line("pgflow_tasks_total{queue=\"q\",flow=\"f_v2\",step=\"scan\",outcome=\"late\"} 2");
    expect_line(
        "pgflow_tasks_total{queue=\"q\",flow=\"f_v1\",step=\"scan\",outcome=\"completed\"} 1");
    expect_line(
        "pgflow_tasks_total{queue=\"q\",flow=\"f_v2\",step=\"scan\",outcome=\"completed\"} 0");
}

Test(metrics, buckets_hold_what_is_at_most_their_bound_and_add_up)
{
    metrics_observe_run(metrics, 0, MS);
    metrics_observe_run(metrics, 0, MS + 1);
    metrics_observe_run(metrics, 0, 3600 * S);
    metrics_observe_run(metrics, 0, 3600 * S + 1);

    expect_line(
        "pgflow_task_seconds_bucket{queue=\"q\",flow=\"f_v1\",step=\"scan\",le=\"0.001\"} 1");
    expect_line(
        "pgflow_task_seconds_bucket{queue=\"q\",flow=\"f_v1\",step=\"scan\",le=\"0.005\"} 2");
    expect_line(
        "pgflow_task_seconds_bucket{queue=\"q\",flow=\"f_v1\",step=\"scan\",le=\"1800\"} 2");
    expect_line(
        "pgflow_task_seconds_bucket{queue=\"q\",flow=\"f_v1\",step=\"scan\",le=\"3600\"} 3");
    expect_line(
        "pgflow_task_seconds_bucket{queue=\"q\",flow=\"f_v1\",step=\"scan\",le=\"+Inf\"} 4");
    expect_line("pgflow_task_seconds_count{queue=\"q\",flow=\"f_v1\",step=\"scan\"} 4");
    expect_line("pgflow_task_seconds_sum{queue=\"q\",flow=\"f_v1\",step=\"scan\"} 7200.002000002");
}

Test(metrics, a_step_that_never_ran_has_no_histograms)
{
    metrics_observe_wait(metrics, 0, S);

    expect_line("pgflow_queue_wait_seconds_count{queue=\"q\",flow=\"f_v1\",step=\"scan\"} 1");
    expect_no("pgflow_queue_wait_seconds_count{queue=\"q\",flow=\"f_v2\"");
    expect_no("pgflow_task_seconds_count");
}

Test(metrics, calls_messages_and_the_guard_are_counted)
{
    metrics_observe_call(metrics, METRICS_CALL_FINISH, 30 * S + 1);
    metrics_count_message(metrics, METRICS_MESSAGE_FOREIGN);
    metrics_count_guard(metrics);

    expect_line("pgflow_db_roundtrip_seconds_bucket{call=\"finish\",le=\"30\"} 0");
    expect_line("pgflow_db_roundtrip_seconds_bucket{call=\"finish\",le=\"+Inf\"} 1");
    expect_line("pgflow_claimed_messages_total{queue=\"q\",outcome=\"foreign\"} 1");
    expect_line("pgflow_guard_total{queue=\"q\"} 1");
}

Test(exposition, a_label_value_cannot_end_its_line)
{
    struct buf out;

    buf_init(&out, LIMIT_KIB);
    exposition_count(&out, "m", "", &(struct exposition_labels){{{"a", "x\"y\\z\n# TYPE"}}}, 7);

    cr_assert(eq(str, out.data, "m{a=\"x\\\"y\\\\z\\n# TYPE\"} 7\n"));
    buf_free(&out);
}
