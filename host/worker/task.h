/*
 * The tasks of this host: from the claim until the database has acknowledged their result
 * or their release. Everything in the table is a claim to be named as in flight after a reconnect.
 *
 *     waiting    in the pool, handler not begun
 *     running    handler began
 *     done       its result or release waits to be sent
 *     sent       on its way; back to done when the answer is lost
 */
#ifndef PGFLOW_WORKER_TASK_H
#define PGFLOW_WORKER_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool/pool.h"

struct db_claim_row;
struct deployment_step;

enum task_stage { STAGE_WAITING, STAGE_RUNNING, STAGE_DONE, STAGE_SENT, STAGES };

enum task_verdict { VERDICT_COMPLETED, VERDICT_FAILED, VERDICT_PERMANENT, VERDICT_RELEASE };

struct task {
    struct pool_task pool; /* its data points back */
    struct db_claim_row *row;
    const struct deployment_step *step; /* NULL: a pair that this host does not serve */
    uint64_t claimed_ns;
    enum task_stage stage;
    enum task_verdict verdict;
    bool started;   /* its handler began: what a release says */
    bool run_ended; /* the database said so: nothing to report */
    char *text;     /* output or error, owned; NULL: none */
    size_t text_size;
    int retry_after_s;          /* -1: the step's backoff */
    uint64_t isolated_until_ns; /* 0: goes with the others; else see result_batch.c */
    uint32_t refusals;
    TAILQ_ENTRY(task) link;
};

struct task_table {
    TAILQ_HEAD(task_queue, task) tasks; /* by time of claim */
    uint32_t count[STAGES];
    uint32_t isolated;     /* tasks that have isolated_until_ns */
    size_t result_bytes;   /* of the texts */
    uint64_t results_made; /* ever: tasks that came to done */
    uint64_t results_acknowledged;
};

void task_table_init(struct task_table *table);

/* Takes over the row; the caller keeps it (db_claim_row_own) once the task is there. NULL: no
 * memory, and the row is still the claim's. */
struct task *task_add(struct task_table *table, struct db_claim_row *row,
                      const struct deployment_step *step, uint64_t claimed_ns);
/* Acknowledged, or not to be reported: frees it, its text and its row. */
void task_remove(struct task_table *table, struct task *task);

void task_set_stage(struct task_table *table, struct task *task, enum task_stage stage);

/* Moves the task to done. The text is copied; without memory for it the attempt fails instead,
 * which says so. `text` may be NULL. */
void task_decide(struct task_table *table, struct task *task, enum task_verdict verdict,
                 const char *text, size_t size);

/* Its result or release was refused though not for what it is: until then it is left alone, and
 * then goes without the others. 0: with the others again. */
void task_isolate(struct task_table *table, struct task *task, uint64_t until_ns);

static inline uint32_t task_count(const struct task_table *table)
{
    return table->count[STAGE_WAITING] + table->count[STAGE_RUNNING] + table->count[STAGE_DONE] +
           table->count[STAGE_SENT];
}

static inline uint32_t task_count_in_pool(const struct task_table *table)
{
    return table->count[STAGE_WAITING] + table->count[STAGE_RUNNING];
}

static inline uint32_t task_count_unreported(const struct task_table *table)
{
    return table->count[STAGE_DONE] + table->count[STAGE_SENT];
}

#endif
