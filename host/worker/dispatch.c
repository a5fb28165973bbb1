/*
 * From the rows of a claim to handlers: each started task finds its concrete flow and step, and
 * goes to the pool of that module. Rows of other outcomes are counted and logged by ids only.
 */
#include "worker/worker_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "log/log.h"
#include "worker/guard.h"

/* A claimed task whose handler has not begun after this is released: so waiting, timeout, grace
 * and report stay below the recovery deadline. */
#define LATE_NS (5 * NS_PER_S)
#define FOREIGN_LOG_NS (60 * NS_PER_S)

static void recall_late(struct worker *worker);

static void on_lateness(uv_timer_t *timer)
{
    recall_late(timer->data);
}

static void watch_lateness(struct worker *worker, uint64_t claimed_ns, uint64_t now_ns)
{
    uint64_t late_ns = claimed_ns + LATE_NS;

    if (uv_is_active((uv_handle_t *)&worker->lateness))
        return; /* it is set for an older task */
    (void)uv_timer_start(&worker->lateness, on_lateness, clock_ms_until(late_ns, now_ns), 0);
}

static void recall_late(struct worker *worker)
{
    struct task *task;
    uint64_t now_ns = uv_hrtime();
    bool recalled = false;

    TAILQ_FOREACH (task, &worker->tasks.tasks, link) {
        if (task->stage != STAGE_WAITING)
            continue;
        if (task->claimed_ns + LATE_NS > now_ns) {
            watch_lateness(worker, task->claimed_ns, now_ns);
            break; /* the list is in order of claims */
        }
        recalled |= pool_recall(worker->pool, &task->pool);
    }
    if (recalled)
        prefetch_suspend(&worker->claims.prefetch, now_ns);
}

/* Permanently failed before it began; the text says why. */
static void refuse_task(struct worker *worker, struct task *task, const char *text)
{
    const struct db_claim_row *row = task->row;

    log_warn("task_refused", text, LOG_QUEUE(worker->queue), LOG_FLOW(row->flow),
             LOG_STEP(row->step), LOG_RUN(row->run_id), LOG_TASK(row->task_index),
             LOG_ATTEMPT(row->attempt));
    task_decide(&worker->tasks, task, VERDICT_PERMANENT, text, strlen(text));
}

static bool is_over_limit(const struct worker *worker, size_t size)
{
    return size > (size_t)worker->settings->max_payload * LIMIT_MIB;
}

static void submit(struct worker *worker, struct task *task)
{
    const struct db_claim_row *row = task->row;
    struct pool_task *pool_task = &task->pool;

    pool_task->module = worker->modules[task->step->deployment->module].pool;
    pool_task->step = task->step->index;
    pool_task->attempt = (uint32_t)row->attempt;
    pool_task->max_attempts = row->max_attempts;
    pool_task->task_index = row->task_index;
    pool_task->msg_id = row->msg_id;
    pool_task->timeout_s = (uint32_t)row->timeout_s;
    snprintf(pool_task->run_id, sizeof pool_task->run_id, "%s", row->run_id);
    pool_task->input = row->input;
    pool_task->input_size = row->input_size;
    if (task->step->gets_flow_input) {
        pool_task->flow_input = row->flow_input;
        pool_task->flow_input_size = row->flow_input_size;
    }
    pool_submit(worker->pool, pool_task);
}

static void begin_task(struct worker *worker, struct task *task)
{
    const struct db_claim_row *row = task->row;
    char text[160];

    if (row->input == NULL) {
        refuse_task(worker, task,
                    row->input_error != NULL ? row->input_error : "the task came without input");
    } else if (is_over_limit(worker, row->input_size) ||
               (task->step->gets_flow_input && is_over_limit(worker, row->flow_input_size))) {
        snprintf(text, sizeof text,
                 "the input of %zu bytes is over the limit of %d MiB (--max-payload)",
                 is_over_limit(worker, row->input_size) ? row->input_size : row->flow_input_size,
                 worker->settings->max_payload);
        refuse_task(worker, task, text);
    } else {
        submit(worker, task);
    }
}

static void start_row(struct worker *worker, struct db_claim_row *row, uint64_t claimed_ns)
{
    const struct deployment_step *step = registry_find(worker->registry, row->flow, row->step);

    struct task *task = task_add(&worker->tasks, row, step, claimed_ns);
    if (task == NULL) {
        /* The row stays the claim's; the database learns which claims we have, and releases this
         * one. */
        log_error("out_of_memory", "there is no memory for a claimed task; it is released",
                  LOG_QUEUE(worker->queue), LOG_FLOW(row->flow), LOG_STEP(row->step),
                  LOG_RUN(row->run_id));
        reclaim_want(worker);
        return;
    }
    db_claim_row_own(row);
    /* A claim that was in flight when the drain began: released untouched. */
    bool draining = worker->life.state != WORKER_RUNNING;
    if (step == NULL || draining)
        task_decide(&worker->tasks, task, VERDICT_RELEASE, NULL, 0);
    else
        begin_task(worker, task);
}

/* One line a minute, with the count since the last one and the first ids. */
static void log_foreign(struct worker *worker, uint64_t now_ns)
{
    struct claim_loop *claims = &worker->claims;
    struct buf ids;

    if (claims->foreign_count == 0 ||
        (claims->foreign_logged_ns != 0 && now_ns - claims->foreign_logged_ns < FOREIGN_LOG_NS))
        return;
    buf_init(&ids, LIMIT_LOG_VALUE);
    for (size_t i = 0; i < claims->foreign_shown; i++)
        buf_printf(&ids, "%s%lld", i == 0 ? "" : " ", (long long)claims->foreign_ids[i]);
    log_warn("foreign_messages",
             "messages that belong to no task lie on the queue; they are left there",
             LOG_QUEUE(worker->queue), LOG_FIELD_INT("count", claims->foreign_count),
             LOG_FIELD_TEXT("msg_ids", ids.data));
    buf_free(&ids);
    claims->foreign_logged_ns = now_ns;
    claims->foreign_count = 0;
    claims->foreign_shown = 0;
}

static void note_foreign(struct worker *worker, int64_t msg_id)
{
    struct claim_loop *claims = &worker->claims;

    if (claims->foreign_shown < LIMIT_FOREIGN_IDS_SHOWN)
        claims->foreign_ids[claims->foreign_shown++] = msg_id;
    claims->foreign_count++;
}

static void take_row(struct worker *worker, struct db_claim_row *row, uint64_t claimed_ns)
{
    if (row->body_mismatch)
        log_warn("body_mismatch",
                 "the body of a message names other work than the task that owns it",
                 LOG_QUEUE(worker->queue), LOG_MSG_ID(row->msg_id));
    switch (row->outcome) {
    case DB_CLAIM_STARTED:
        start_row(worker, row, claimed_ns);
        return;
    case DB_CLAIM_BUSY:
        /* Past its recovery deadline its worker is gone: recovery comes next. */
        if (row->reason != NULL && strcmp(row->reason, "running") == 0 && row->due_in_ms <= 0)
            maintenance_want(worker);
        return;
    case DB_CLAIM_STALE:
        log_debug("stale_message", "a message of ended work was archived", LOG_QUEUE(worker->queue),
                  LOG_MSG_ID(row->msg_id));
        return;
    case DB_CLAIM_FOREIGN:
        note_foreign(worker, row->msg_id);
        return;
    case DB_CLAIM_SUSPENDED:
    case DB_CLAIM_UNSUPPORTED:
    case DB_CLAIM_FENCED:
    case DB_CLAIM_EMPTY:
        return;
    }
}

void dispatch_claim(struct worker *worker, const struct db_claim *claim, uint64_t claimed_ns)
{
    uint64_t now_ns = uv_hrtime();

    if (guard_report(worker, claim))
        return;
    for (size_t i = 0; i < claim->count; i++)
        take_row(worker, claim->rows[i], claimed_ns);
    log_foreign(worker, now_ns);
    if (worker->tasks.count[STAGE_WAITING] > 0)
        watch_lateness(worker, claimed_ns, now_ns);
}
