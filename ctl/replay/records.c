#include "ctl/replay/records.h"

#include "base/clock.h"
#include "ctl/query.h"
#include "db/sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_AT_ONCE = 50, FIRST_PAGE = 64, LARGEST_PAGE = 1000, LONG_MS = 200, SHORT_MS = 50 };
/* 2 %: for each millisecond of reading, so many without. */
enum { PAUSE_FACTOR = 49, SAMPLE_MS = 1000, BUSY_PER_S = 10 };
#define RUNS_MOST ((size_t)64 * 1024)

/* A page of runs of whatever flow, so that a flow with few runs costs no long statement. */
static const char runs_sql[] =
    "select r.run_id, r.started_at, r.flow_slug = $1 from pgflow.runs r "
    "where (r.started_at, r.run_id) < ($2::timestamptz, $3::uuid) and r.started_at >= "
    "$4::timestamptz order by r.started_at desc, r.run_id desc limit 1000";

/* Keys first, so that only the inputs of one page are built. */
static const char tasks_sql[] =
    "with page as materialized ("
    "  select r.n, t.step_slug, t.task_index, r.run_id"
    "  from unnest($1::uuid[]) with ordinality r (run_id, n)"
    "  cross join lateral ("
    "    select x.step_slug, x.task_index from pgflow.step_tasks x"
    "    where x.run_id = r.run_id"
    "      and (x.step_slug, x.task_index) > (case when r.n = 1 then $2 else '' end,"
    "                                         case when r.n = 1 then $3::int else -1 end)"
    "      and x.status = any ($4::text[]) and x.step_slug = any ($5::text[])"
    "    order by x.step_slug, x.task_index limit $6::int) t"
    "  order by r.n, t.step_slug, t.task_index limit $6::int) "
    "select p.run_id, p.step_slug, p.task_index, t.attempts_count, t.status, t.output,"
    "  case when s.step_type = 'map' then t.input"
    "    when s.deps_count = 0 then '{}'::jsonb"
    "    else (select coalesce(jsonb_object_agg(d.dep_slug, ss.output), '{}')"
    "      from pgflow.deps d cross join lateral ("
    "        select x.output from pgflow.step_states x"
    "        where x.run_id = p.run_id and x.step_slug = d.dep_slug and x.status = 'completed'"
    "        offset 0) ss"
    "      where d.flow_slug = $7 and d.step_slug = p.step_slug) end,"
    "  case when p.step_slug = any ($8::text[]) then"
    "    (select r.input from pgflow.runs r where r.run_id = p.run_id) end "
    "from page p"
    "  cross join lateral (select x.attempts_count, x.status, x.output, x.input"
    "    from pgflow.step_tasks x where x.run_id = p.run_id and x.step_slug = p.step_slug"
    "      and x.task_index = p.task_index offset 0) t"
    "  cross join lateral (select x.step_type, x.deps_count from pgflow.steps x"
    "    where x.flow_slug = $7 and x.step_slug = p.step_slug offset 0) s "
    "order by p.n, p.step_slug, p.task_index";

/* The plans must not depend on statistics. */
static const char session_sql[] =
    "select set_config('default_transaction_read_only', 'on', false), set_config('jit', 'off', "
    "false), set_config('enable_seqscan', 'off', false), set_config('enable_hashjoin', 'off', "
    "false), set_config('enable_mergejoin', 'off', false)";

/* Everybody may read it. */
static const char busy_sql[] =
    "select sum(xact_commit + xact_rollback)::bigint from pg_stat_database";

static struct db_rows *ask(struct records *records, const char *sql, const char *const *values,
                           size_t count, struct error *error)
{
    records->own++;
    return query_rows(records->db, sql, values, count, error);
}

bool records_open(struct records *records, struct db_sync *db, const struct plan *plan,
                  struct error *error)
{
    records->db = db;
    records->page = FIRST_PAGE;
    records->is_busy = true;
    (void)snprintf(records->before, sizeof records->before, "infinity");
    (void)snprintf(records->before_id, sizeof records->before_id,
                   "ffffffff-ffff-ffff-ffff-ffffffffffff");
    buf_init(&records->runs, RUNS_MOST);
    buf_init(&records->steps, RUNS_MOST * 4);
    buf_init(&records->wanting, RUNS_MOST * 4);
    buf_putc(&records->steps, '{');
    buf_putc(&records->wanting, '{');
    for (size_t i = 0; i < plan->count; i++) {
        buf_printf(&records->steps, "%s%s", i > 0 ? "," : "", plan->steps[i].slug);
        if (plan->steps[i].takes_flow_input)
            buf_printf(&records->wanting, "%s%s", records->wanting.size > 1 ? "," : "",
                       plan->steps[i].slug);
    }
    buf_putc(&records->steps, '}');
    buf_putc(&records->wanting, '}');
    buf_put(&records->steps, "", 1);
    buf_put(&records->wanting, "", 1);
    if (!buf_ok(&records->steps) || !buf_ok(&records->wanting))
        return error_out_of_memory(error);
    struct db_rows *rows = ask(records, session_sql, NULL, 0, error);
    db_rows_destroy(rows);
    return rows != NULL;
}

void records_close(struct records *records)
{
    buf_free(&records->runs);
    buf_free(&records->steps);
    buf_free(&records->wanting);
}

uint64_t records_next_ms(const struct records *records)
{
    return records->next_ms;
}

/* ---- How busy the server is ---- */

static bool look_at_server(struct records *records, struct error *error)
{
    uint64_t now = clock_steady_ms();
    if (records->sampled_ms != 0 && now - records->sampled_ms < SAMPLE_MS)
        return true;
    struct db_rows *rows = ask(records, busy_sql, NULL, 0, error);
    if (rows == NULL)
        return false;
    const char *text = db_rows_text(rows, 0, 0);
    uint64_t total = text != NULL ? strtoull(text, NULL, 10) : 0;
    db_rows_destroy(rows);
    if (records->sampled_ms != 0) {
        uint64_t all = total > records->transactions ? total - records->transactions : 0;
        uint64_t others = all > records->own ? all - records->own : 0;
        records->is_busy = others * 1000 > BUSY_PER_S * (now - records->sampled_ms);
    }
    records->sampled_ms = now;
    records->transactions = total;
    records->own = 0;
    return true;
}

/* ---- Pages ---- */

static void pace(struct records *records, uint64_t began_ms)
{
    uint64_t now = clock_steady_ms();
    uint64_t took = now - began_ms;
    if (took > LONG_MS && records->page > 1)
        records->page /= 2;
    else if (took < SHORT_MS && records->page < LARGEST_PAGE)
        records->page = records->page * 2 < LARGEST_PAGE ? records->page * 2 : (size_t)LARGEST_PAGE;
    records->next_ms = records->is_busy ? now + (took + 1) * PAUSE_FACTOR : now;
}

static bool read_runs(struct records *records, struct error *error)
{
    const char *values[] = {records->flow, records->before, records->before_id,
                            records->since != NULL ? records->since : "-infinity"};
    struct db_rows *rows = ask(records, runs_sql, values, 4, error);
    if (rows == NULL)
        return false;
    size_t count = db_rows_count(rows);
    size_t row = 0;
    for (; row < count; row++) {
        if (records->runs.size == (size_t)RUNS_AT_ONCE * LIMIT_UUID_TEXT || records->runs_left == 0)
            break;
        const char *run = db_rows_text(rows, row, 0);
        if (db_rows_text(rows, row, 2)[0] == 't') {
            buf_put(&records->runs, run, LIMIT_UUID_TEXT);
            records->runs_left -= records->runs_left > 0;
        }
        (void)snprintf(records->before_id, sizeof records->before_id, "%s", run);
        (void)snprintf(records->before, sizeof records->before, "%s", db_rows_text(rows, row, 1));
    }
    records->runs_ended = records->runs_left == 0 || (row == count && count < 1000);
    db_rows_destroy(rows);
    records->step[0] = '\0';
    (void)snprintf(records->index, sizeof records->index, "-1");
    return buf_ok(&records->runs) || error_out_of_memory(error);
}

static struct db_rows *read_tasks(struct records *records, struct error *error)
{
    struct buf runs;
    char page[24];
    buf_init(&runs, RUNS_MOST);
    buf_putc(&runs, '{');
    for (size_t at = 0; at < records->runs.size; at += LIMIT_UUID_TEXT)
        buf_printf(&runs, "%s%.*s", at > 0 ? "," : "", LIMIT_UUID_TEXT, records->runs.data + at);
    buf_puts(&runs, "}");
    buf_put(&runs, "", 1);
    (void)snprintf(page, sizeof page, "%zu", records->page);
    const char *values[] = {
        runs.data,           records->step,
        records->index,      records->failed ? "{completed,failed}" : "{completed}",
        records->steps.data, page,
        records->flow,       records->wanting.data};
    struct db_rows *rows = buf_ok(&runs) ? ask(records, tasks_sql, values, 8, error) : NULL;
    if (!buf_ok(&runs))
        (void)error_out_of_memory(error);
    buf_free(&runs);
    return rows;
}

/* The next page begins behind the last task of this one. */
static void go_on(struct records *records, const struct db_rows *rows, size_t asked)
{
    size_t count = db_rows_count(rows);
    if (count < asked) {
        buf_clear(&records->runs);
        return;
    }
    const char *run = db_rows_text(rows, count - 1, RECORD_RUN);
    while (records->runs.size > 0 && memcmp(records->runs.data, run, LIMIT_UUID_TEXT) != 0)
        buf_consume(&records->runs, LIMIT_UUID_TEXT);
    (void)snprintf(records->step, sizeof records->step, "%s",
                   db_rows_text(rows, count - 1, RECORD_STEP));
    (void)snprintf(records->index, sizeof records->index, "%s",
                   db_rows_text(rows, count - 1, RECORD_INDEX));
}

bool records_read(struct records *records, struct db_rows **rows, struct error *error)
{
    *rows = NULL;
    if (!look_at_server(records, error))
        return false;
    uint64_t began = clock_steady_ms();
    while (records->runs.size == 0 && !records->runs_ended) {
        if (!read_runs(records, error))
            return false;
        if (records->runs.size == 0 && !records->runs_ended && records->is_busy)
            break; /* nothing of this flow in that page, and time for others */
    }
    if (records->runs.size == 0 && records->runs_ended)
        return true;
    size_t asked = records->page;
    static const char no_tasks[] = "select where false";
    *rows = records->runs.size > 0 ? read_tasks(records, error)
                                   : ask(records, no_tasks, NULL, 0, error);
    if (*rows == NULL)
        return false;
    if (records->runs.size > 0)
        go_on(records, *rows, asked);
    pace(records, began);
    return true;
}
