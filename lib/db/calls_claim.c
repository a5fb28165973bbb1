/*
 * read_and_claim_tasks, and the rows that outlive its answer.
 *
 * A row is one allocation with its strings and its input behind it, so that a
 * long task pins its own payload and not those of the batch it came with. The
 * flow_input of a run is shared by that run's rows through a counted block.
 */
#include "db/calls_support.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct shared_text {
    size_t references;
    size_t size;
    char text[];
};

struct owned_row {
    struct db_claim_row row; /* first: a row is its owned_row */
    bool is_held;
    struct shared_text *flow_input; /* NULL: none */
    char strings[];
};

enum column {
    OUTCOME,
    QUEUE,
    MSG_ID,
    FLOW,
    RUN,
    STEP,
    TASK_INDEX,
    ATTEMPT,
    MAX_ATTEMPTS,
    CLAIM_NO,
    TIMEOUT,
    INPUT,
    FLOW_INPUT,
    INPUT_ERROR,
    BODY_MISMATCH,
    REASON,
    DUE_IN_MS,
    COLUMNS,
};

static const char *const column_names[COLUMNS] = {
    "outcome",    "queue_name",  "msg_id",        "flow_slug", "run_id",    "step_slug",
    "task_index", "attempt",     "max_attempts",  "claim_no",  "timeout",   "input",
    "flow_input", "input_error", "body_mismatch", "reason",    "due_in_ms",
};

static const char *const outcome_words[] = {
    [DB_CLAIM_STARTED] = "started", [DB_CLAIM_BUSY] = "busy",
    [DB_CLAIM_STALE] = "stale",     [DB_CLAIM_FOREIGN] = "foreign",
    [DB_CLAIM_SUSPENDED] = "held",  [DB_CLAIM_UNSUPPORTED] = "unsupported",
    [DB_CLAIM_FENCED] = "fenced",   [DB_CLAIM_EMPTY] = "empty",
};

struct reader {
    const PGresult *result;
    bool has_memory;
    int columns[COLUMNS];
};

/* ---- Rows ---- */

static void drop_shared(struct shared_text *shared)
{
    if (shared != NULL && --shared->references == 0)
        free(shared);
}

void db_claim_row_own(struct db_claim_row *row)
{
    ((struct owned_row *)row)->is_held = true;
}

void db_claim_row_drop(struct db_claim_row *row)
{
    struct owned_row *owned = (struct owned_row *)row;
    if (owned == NULL)
        return;
    drop_shared(owned->flow_input);
    free(owned);
}

static size_t cell_size(const struct reader *reader, int row, enum column column)
{
    return (size_t)PQgetlength(reader->result, row, reader->columns[column]);
}

/* Copies a cell behind the row; `*to` moves on. SQL null gives `none`. */
static const char *take_cell(const struct reader *reader, int row, enum column column, char **to,
                             const char *none)
{
    const char *text = result_text(reader->result, row, reader->columns[column]);
    if (text == NULL)
        return none;
    size_t size = cell_size(reader, row, column);
    char *copy = *to;
    memcpy(copy, text, size + 1);
    *to += size + 1;
    return copy;
}

static int cell_int(const struct reader *reader, int row, enum column column)
{
    return result_int(reader->result, row, reader->columns[column], 0);
}

static void fill_strings(struct db_claim_row *row, const struct reader *reader, int i, char *to)
{
    row->queue = take_cell(reader, i, QUEUE, &to, "");
    row->flow = take_cell(reader, i, FLOW, &to, "");
    row->run_id = take_cell(reader, i, RUN, &to, "");
    row->step = take_cell(reader, i, STEP, &to, "");
    row->input = take_cell(reader, i, INPUT, &to, NULL);
    row->input_size = row->input != NULL ? cell_size(reader, i, INPUT) : 0;
    row->input_error = take_cell(reader, i, INPUT_ERROR, &to, NULL);
    row->reason = take_cell(reader, i, REASON, &to, NULL);
}

static struct owned_row *read_row(struct reader *reader, int i)
{
    static const enum column strings[] = {QUEUE, FLOW, RUN, STEP, INPUT, INPUT_ERROR, REASON};
    size_t size = 0;
    int outcome = result_word(result_text(reader->result, i, reader->columns[OUTCOME]),
                              outcome_words, COUNT(outcome_words));
    for (size_t k = 0; k < COUNT(strings); k++)
        size += cell_size(reader, i, strings[k]) + 1;
    if (outcome < 0)
        return NULL;
    struct owned_row *owned = malloc(sizeof *owned + size);
    if (owned == NULL) {
        reader->has_memory = false;
        return NULL;
    }
    owned->is_held = false;
    owned->flow_input = NULL;
    owned->row = (struct db_claim_row){
        .outcome = (enum db_claim_outcome)outcome,
        .msg_id = result_int64(reader->result, i, reader->columns[MSG_ID], 0),
        .task_index = cell_int(reader, i, TASK_INDEX),
        .attempt = cell_int(reader, i, ATTEMPT),
        .max_attempts = cell_int(reader, i, MAX_ATTEMPTS),
        .claim_no = cell_int(reader, i, CLAIM_NO),
        .timeout_s = cell_int(reader, i, TIMEOUT),
        .body_mismatch = result_bool(reader->result, i, reader->columns[BODY_MISMATCH]),
        .due_in_ms = result_int64(reader->result, i, reader->columns[DUE_IN_MS], -1),
    };
    fill_strings(&owned->row, reader, i, owned->strings);
    return owned;
}

/* ---- flow_input, once per run ---- */

static struct shared_text *copy_shared(const char *text, size_t size)
{
    struct shared_text *shared = malloc(sizeof *shared + size + 1);
    if (shared == NULL)
        return NULL;
    shared->references = 0;
    shared->size = size;
    memcpy(shared->text, text, size + 1);
    return shared;
}

static void share(struct owned_row *owned, struct shared_text *shared)
{
    shared->references++;
    owned->flow_input = shared;
    owned->row.flow_input = shared->text;
    owned->row.flow_input_size = shared->size;
}

/* A batch is at most LIMIT_BATCH rows, and those of a run that have none of
 * their own look for the one that has. */
static bool share_flow_inputs(struct reader *reader, struct owned_row **rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = result_text(reader->result, (int)i, reader->columns[FLOW_INPUT]);
        if (text == NULL)
            continue;
        struct shared_text *shared = copy_shared(text, cell_size(reader, (int)i, FLOW_INPUT));
        if (shared == NULL) {
            reader->has_memory = false;
            return false;
        }
        share(rows[i], shared);
        for (size_t k = 0; k < count; k++) {
            if (PQgetisnull(reader->result, (int)k, reader->columns[FLOW_INPUT]) &&
                rows[k]->flow_input == NULL &&
                strcmp(rows[k]->row.run_id, rows[i]->row.run_id) == 0)
                share(rows[k], shared);
        }
    }
    return true;
}

/* ---- The call ---- */

static void drop_unheld(struct owned_row **rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i] != NULL && !rows[i]->is_held)
            db_claim_row_drop(&rows[i]->row);
    }
}

static bool read_rows(struct reader *reader, struct owned_row **rows, size_t count)
{
    if (count == 0 || !result_columns(reader->result, column_names, reader->columns, COLUMNS))
        return false;
    for (size_t i = 0; i < count; i++) {
        rows[i] = read_row(reader, (int)i);
        if (rows[i] == NULL)
            return false;
    }
    return share_flow_inputs(reader, rows, count);
}

static void answer_claim(struct call *call, const struct db_status *status, PGresult *result)
{
    db_claim_done done = (db_claim_done)call->done;
    if (result == NULL) {
        done(call->ctx, status, NULL);
        return;
    }
    size_t count = (size_t)PQntuples(result);
    struct owned_row **rows = calloc(count + 1, sizeof(struct owned_row *));
    struct reader reader = {.result = result, .has_memory = rows != NULL};
    struct db_claim claim = {.rows = (struct db_claim_row *const *)rows, .count = count};
    bool read = rows != NULL && read_rows(&reader, rows, count);
    struct db_status failure =
        reader.has_memory ? result_mismatch(status) : result_no_memory(status);
    done(call->ctx, read ? status : &failure, read ? &claim : NULL);
    if (rows != NULL)
        drop_unheld(rows, count);
    free((void *)rows);
}

static enum call_connection connection_of(enum db_claim_way way)
{
    return way == DB_CLAIM_BESIDE_RESULTS ? CALL_CONTROL : CALL_WORK;
}

void db_read_and_claim_tasks(struct db *db, const char *queue, int quantity, int visibility_s,
                             const char *worker_id, struct db_pairs suspended,
                             enum db_claim_way way, db_claim_done done, void *ctx)
{
    static const struct statement statement = {
        .name = "read_and_claim_tasks",
        .sql = "select outcome, queue_name, msg_id, flow_slug, run_id, step_slug, task_index,"
               " attempt, max_attempts, claim_no, timeout, input, flow_input, input_error,"
               " body_mismatch, reason, due_in_ms from"
               " pgflow.read_and_claim_tasks($1, $2, $3, $4::uuid, " CALLS_PAIRS("$5", "$6") ")"};
    struct call *call =
        call_create(&statement, connection_of(way), answer_claim, (call_done)done, ctx);
    params_text(&call->params, queue);
    params_int(&call->params, quantity);
    params_int(&call->params, visibility_s);
    params_text(&call->params, worker_id);
    calls_put_pairs(&call->params, suspended);
    db_submit(db, call);
}

void db_warm_up(struct db *db, const char *queue, enum db_claim_way way, db_done done, void *ctx)
{
    static const struct statement statement = {.sql = "select pgflow.warm_up($1)"};
    struct call *call =
        call_create(&statement, connection_of(way), calls_answer_done, (call_done)done, ctx);
    params_text(&call->params, queue);
    db_submit(db, call);
}
