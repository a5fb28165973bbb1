/*
 * Answers of the database to the typed calls, in any shape: the caller is told
 * once, gets either nothing or values that it may use, and nothing leaks.
 *
 * db_submit is ours: it catches the call, so that its decoder can be given a
 * PGresult made of the input.
 */
#include "fuzz.h"

#include "db/calls.h"
#include "db/db_private.h"

#include <libpq-fe.h>
#include <string.h>

enum { COLUMNS = 24, ROWS = 12, ITEMS = 3 };

static struct call *caught;
static int told;
static struct db_claim_row *held[ROWS];
static size_t row_count;

void db_submit(struct db *db, struct call *call)
{
    (void)db;
    FUZZ_CHECK(caught == NULL && params_ok(&call->params));
    caught = call;
}

/* ---- What a caller does with an answer: looks at all of it ---- */

static void note(const struct db_status *status, const void *result)
{
    told++;
    FUZZ_CHECK((status->outcome == DB_OK) == (result != NULL));
}

static void see_texts(struct db_texts texts)
{
    for (size_t i = 0; i < texts.count; i++)
        FUZZ_CHECK(strlen(texts.items[i]) < 1 << 20);
}

static void on_done(void *ctx, const struct db_status *status)
{
    (void)ctx;
    (void)status;
    told++;
}

static void on_claim(void *ctx, const struct db_status *status, const struct db_claim *claim)
{
    (void)ctx;
    note(status, claim);
    FUZZ_CHECK(!claim || claim->count >= 1);
    for (size_t i = 0; claim && i < claim->count; i++) {
        struct db_claim_row *row = claim->rows[i];
        FUZZ_CHECK(row->outcome <= DB_CLAIM_EMPTY && row->queue && row->flow && row->step);
        FUZZ_CHECK(!row->input || row->input[row->input_size] == '\0');
        FUZZ_CHECK(!row->flow_input || row->flow_input[row->flow_input_size] == '\0');
        if (i % 2 == 0) {
            db_claim_row_own(row);
            held[row_count++] = row;
        }
    }
}

static void on_finished(void *ctx, const struct db_status *status, const struct db_finished *answer)
{
    (void)ctx;
    note(status, answer);
    FUZZ_CHECK(!answer || answer->count == ITEMS);
    for (size_t i = 0; answer && i < answer->count; i++)
        FUZZ_CHECK(answer->answers[i].outcome <= DB_FINISH_REFUSED);
}

static void on_released(void *ctx, const struct db_status *status, const struct db_released *answer)
{
    (void)ctx;
    note(status, answer);
    for (size_t i = 0; answer && i < answer->count; i++)
        FUZZ_CHECK(answer->outcomes[i] <= DB_RELEASE_GONE);
}

static void on_coverage(void *ctx, const struct db_status *status, const struct db_coverage *answer)
{
    int64_t sum = 0;
    (void)ctx;
    note(status, answer);
    for (size_t i = 0; answer && i < answer->count; i++) {
        const struct db_coverage_row *row = &answer->rows[i];
        FUZZ_CHECK(row->flow && row->step);
        see_texts(row->reasons);
        for (size_t k = 0; row->counts && k < row->reasons.count; k++)
            sum ^= row->counts[k];
    }
    FUZZ_CHECK(sum != INT64_MIN || answer);
}

static void on_heartbeat(void *ctx, const struct db_status *status, const struct db_heartbeat *beat)
{
    (void)ctx;
    note(status, beat);
    if (beat)
        see_texts(beat->ended_runs);
}

static void on_deployment(void *ctx, const struct db_status *status,
                          const struct db_deployment *deployment)
{
    (void)ctx;
    note(status, deployment);
    if (!deployment)
        return;
    FUZZ_CHECK(deployment->compilation && deployment->activation && deployment->alias);
    see_texts(deployment->differences);
    see_texts(deployment->option_drift);
}

static void on_offer(void *ctx, const struct db_status *status, const struct db_offer *offer)
{
    (void)ctx;
    note(status, offer);
    if (!offer)
        return;
    FUZZ_CHECK(offer->offered <= DB_OFFER_SUPERSEDED);
    see_texts(offer->queues);
    see_texts(offer->reasons);
}

static void on_registered(void *ctx, const struct db_status *status, const enum db_registered *word)
{
    (void)ctx;
    note(status, word);
    FUZZ_CHECK(!word || *word <= DB_REGISTER_SUPERSEDED);
}

static void on_count(void *ctx, const struct db_status *status, const int *count)
{
    (void)ctx;
    note(status, count);
}

static void on_version(void *ctx, const struct db_status *status,
                       const struct db_schema_version *version)
{
    (void)ctx;
    note(status, version);
}

static void on_fence(void *ctx, const struct db_status *status, const struct db_fence *fence)
{
    (void)ctx;
    note(status, fence);
    FUZZ_CHECK(!fence || (fence->reason <= DB_FENCE_NOT_IN_MANIFEST &&
                          strlen(db_fence_reason_name(fence->reason)) < SIZE_MAX));
}

static void on_noted(void *ctx, const struct db_status *status, const bool *before)
{
    (void)ctx;
    note(status, before);
    FUZZ_CHECK(!before || *before || !*before);
}

static void on_queue_stats(void *ctx, const struct db_status *status,
                           const struct db_queue_stats *stats)
{
    (void)ctx;
    note(status, stats);
    for (size_t i = 0; stats && i < stats->count; i++)
        FUZZ_CHECK(strlen(stats->rows[i].flow) + strlen(stats->rows[i].step) < SIZE_MAX);
}

static void on_drain(void *ctx, const struct db_status *status, const struct db_drain *drain)
{
    (void)ctx;
    note(status, drain);
    for (size_t i = 0; drain && i < drain->count; i++)
        FUZZ_CHECK(strlen(drain->rows[i].flow) < SIZE_MAX);
}

/* ---- The calls ---- */

static void make_call(size_t which, char *text)
{
    const struct db_task_ref task = {text, text, 1, 1};
    const struct db_finish_item finished[ITEMS] = {
        {task, DB_RESULT_COMPLETED, text, strlen(text), NULL, -1},
        {task, DB_RESULT_FAILED, NULL, 0, text, 5},
        {task, DB_RESULT_PERMANENT, NULL, 0, text, -1}};
    const struct db_release_item released[ITEMS] = {{task, true}, {task, false}, {task, true}};
    const struct db_registration registration = {
        .worker_id = text, .queue = text, .function = text};
    const struct db_texts none = {NULL, 0};
    const struct db_pairs pairs = {NULL, 0};
    switch (which) {
    case 0:
        db_finish_tasks(NULL, text, finished, ITEMS, on_finished, NULL);
        break;
    case 1:
        db_release_tasks(NULL, text, released, ITEMS, 0, on_released, NULL);
        break;
    case 2:
        db_missing_coverage(NULL, text, pairs, on_coverage, NULL);
        break;
    case 3:
        db_heartbeat(NULL, text, none, pairs, on_heartbeat, NULL);
        break;
    case 4:
        db_ensure_deployment(NULL, text, none, on_deployment, NULL);
        break;
    case 5:
        db_offer_activation(NULL, text, text, on_offer, NULL);
        break;
    case 6:
        db_register_worker(NULL, &registration, on_registered, NULL);
        break;
    case 7:
        db_release_tasks_except(NULL, text, &task, 1, on_count, NULL);
        break;
    case 8:
        db_schema_version(NULL, on_version, NULL);
        break;
    case 9:
        db_worker_fence(NULL, text, text, text, on_fence, NULL);
        break;
    case 10:
        db_mark_worker_stopped(NULL, text, on_done, NULL);
        break;
    case 11:
        db_queue_stats(NULL, text, on_queue_stats, NULL);
        break;
    case 12:
        db_draining_runs(NULL, none, on_drain, NULL);
        break;
    case 13:
        db_note_coverage_gap(NULL, text, text, text, on_noted, NULL);
        break;
    default:
        db_read_and_claim_tasks(NULL, text, 10, 5, text, pairs, DB_CLAIM_BEHIND_RESULTS, on_claim,
                                NULL);
    }
}

/* ---- The answer ---- */

/* Words that decoders know, so that most rows get past their first column. */
static const char *const words[] = {
    "started",    "busy",    "stale",     "foreign",  "held",       "unsupported", "fenced",
    "empty",      "1",       "2",         "3",        "completed",  "refused",     "again",
    "released",   "late",    "gone",      "t",        "f",          "{}",          "{a,\"b c\"}",
    "registered", "waiting", "activated", "compiled", "2147483648", "-1",          "{1,NULL}",
};

static const char *const claim_columns[] = {
    "outcome",    "queue_name",  "msg_id",        "flow_slug", "run_id",       "step_slug",
    "task_index", "attempt",     "max_attempts",  "claim_no",  "timeout",      "input",
    "flow_input", "input_error", "body_mismatch", "reason",    "due_in_ms",    "counts",
    "depth",      "started",     "oldest_ms",     "is_active", "started_runs",
};

static void set_value(PGresult *result, int row, int column, struct fuzz_input *input)
{
    size_t kind = fuzz_byte(input);
    const char *value = NULL;
    if (kind < 160)
        value = words[kind % (sizeof words / sizeof words[0])];
    else if (kind < 230)
        value = fuzz_text(input, 200);
    FUZZ_CHECK(
        PQsetvalue(result, row, column, (char *)(uintptr_t)value, value ? (int)strlen(value) : -1));
}

static PGresult *make_answer(struct fuzz_input *input)
{
    PGresAttDesc columns[COLUMNS] = {{.name = NULL}};
    size_t known = sizeof claim_columns / sizeof claim_columns[0];
    size_t count = fuzz_byte(input) % 3 ? known : fuzz_below(input, COLUMNS);
    size_t rows = fuzz_below(input, ROWS);
    PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    FUZZ_CHECK(result != NULL);
    for (size_t i = 0; i < count; i++)
        columns[i].name = (char *)(uintptr_t)claim_columns[i % known];
    if (count > 0)
        FUZZ_CHECK(PQsetResultAttrs(result, (int)count, columns));
    for (size_t row = 0; count > 0 && row < rows; row++)
        for (size_t i = 0; i < count; i++)
            set_value(result, (int)row, (int)i, input);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct db_status status = {.outcome = DB_OK, .text = ""};
    told = 0;
    row_count = 0;
    make_call(fuzz_below(&input, 24), fuzz_text(&input, 100));
    FUZZ_CHECK(caught != NULL);
    struct call *call = caught;
    caught = NULL;
    PGresult *result = make_answer(&input);
    call->answer(call, &status, result);
    FUZZ_CHECK(told == 1 && caught == NULL);
    PQclear(result);
    call_destroy(call);
    for (size_t i = 0; i < row_count; i++)
        db_claim_row_drop(held[i]);
    fuzz_free_all();
    return 0;
}
