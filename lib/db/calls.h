/*
 * The SQL interface of the host, one function a call. The SQL behind each is
 * described in docs/sql-reference.md; here: C types, ownership, connections.
 *
 * Arguments are copied before the function returns. Results are valid during
 * the callback, but for claim rows (see there); they are NULL unless the status
 * is DB_OK. Strings in results are never NULL unless said; they are
 * NUL-terminated and may not be changed.
 */
#ifndef PGFLOW_DB_CALLS_H
#define PGFLOW_DB_CALLS_H

#include "db/db.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db_pair {
    const char *flow;
    const char *step;
};

struct db_pairs { /* {NULL, 0}: none */
    const struct db_pair *items;
    size_t count;
};

struct db_texts {
    const char *const *items;
    size_t count;
};

/* ---- Startup ---- */

struct db_schema_version {
    bool is_installed;
    int version;
    int oldest_host;
};
typedef void (*db_schema_version_done)(void *ctx, const struct db_status *status,
                                       const struct db_schema_version *result);
void db_schema_version(struct db *db, db_schema_version_done done, void *ctx);

/* pgflow.track_worker_function(function, 'process'). */
void db_track_worker_function(struct db *db, const char *function, db_done done, void *ctx);

/* Whether a worker may start, and why not. */
enum db_fence_reason {
    DB_FENCE_NONE,
    DB_FENCE_DISABLED, /* also: nobody tracked the function */
    DB_FENCE_PAUSED,
    DB_FENCE_WRONG_MODULES,
    DB_FENCE_NOT_IN_MANIFEST,
};
const char *db_fence_reason_name(enum db_fence_reason reason);
struct db_fence {
    enum db_fence_reason reason;
    const char *detail;        /* which deployment asks for what; NULL: nothing to add */
    const char *stands_by_for; /* the open deployment that waits for this code; NULL: none */
    const char *paused_at;     /* as PostgreSQL prints it; NULL when not paused */
    const char *pause_reason;  /* JSON text; NULL when not paused */
};
typedef void (*db_fence_done)(void *ctx, const struct db_status *status,
                              const struct db_fence *result);
/* `info`: as of the registration; its modules count. */
void db_worker_fence(struct db *db, const char *function, const char *queue, const char *info,
                     db_fence_done done, void *ctx);

struct db_deployment {
    const char *compilation; /* compiled, verified, recompiled, mismatch */
    const char *activation;  /* activated, active, inactive */
    const char *alias;
    const char *active_flow; /* NULL: the alias has none */
    const char *queue_mode;
    const char *hint; /* NULL: none */
    struct db_texts differences;
    struct db_texts option_drift;
};
typedef void (*db_deployment_done)(void *ctx, const struct db_status *status,
                                   const struct db_deployment *result);
/* `deployment`: the JSON of sql-reference.md; `adopt`: PGMQ queues to take over. */
void db_ensure_deployment(struct db *db, const char *deployment, struct db_texts adopt,
                          db_deployment_done done, void *ctx);

struct db_coverage_row {
    const char *flow;
    const char *step;
    struct db_texts reasons; /* active, draining, executable, recoverable */
    const int64_t *counts;   /* what stands behind each reason */
};
struct db_coverage {
    const struct db_coverage_row *rows;
    size_t count;
};
typedef void (*db_coverage_done)(void *ctx, const struct db_status *status,
                                 const struct db_coverage *result);
/* The required pairs that `supported` lacks; none: covered. */
void db_missing_coverage(struct db *db, const char *queue, struct db_pairs supported,
                         db_coverage_done done, void *ctx);

typedef void (*db_answer_done)(void *ctx, const struct db_status *status, const bool *result);
/* A host cannot start for such a gap. True: an earlier start with the same function, queue and
 * modules said so before. `info`: as for a registration. */
void db_note_coverage_gap(struct db *db, const char *function, const char *queue, const char *info,
                          db_answer_done done, void *ctx);

/* ---- Worker ---- */

struct db_registration {
    const char *worker_id; /* a fresh UUID */
    const char *queue;
    const char *function;
    struct db_pairs supported; /* none with standby */
    const char *info;          /* JSON object; NULL: {} */
    bool standby;
    struct db_pairs suspended;
    const char *predecessor; /* this process's earlier row, or NULL */
};
enum db_registered {
    DB_REGISTERED,
    DB_REGISTER_DISABLED,
    DB_REGISTER_OTHER_QUEUE,
    DB_REGISTER_SUPERSEDED,
    DB_REGISTER_WRONG_MODULES,
    DB_REGISTER_NOT_IN_MANIFEST,
};
typedef void (*db_register_done)(void *ctx, const struct db_status *status,
                                 const enum db_registered *result);
void db_register_worker(struct db *db, const struct db_registration *registration,
                        db_register_done done, void *ctx);

struct db_heartbeat {
    bool is_deprecated;
    bool must_stop;
    struct db_texts ended_runs; /* of those given as in flight */
};
typedef void (*db_heartbeat_done)(void *ctx, const struct db_status *status,
                                  const struct db_heartbeat *result);
void db_heartbeat(struct db *db, const char *worker_id, struct db_texts runs_in_flight,
                  struct db_pairs suspended, db_heartbeat_done done, void *ctx);

void db_mark_worker_stopped(struct db *db, const char *worker_id, db_done done, void *ctx);

enum db_offered { DB_OFFER_ACTIVATED, DB_OFFER_ACTIVE, DB_OFFER_WAITING, DB_OFFER_SUPERSEDED };
struct db_offer {
    enum db_offered offered;
    const char *active_flow; /* after the call; NULL: the alias has no active version */
    struct db_texts queues;  /* DB_OFFER_WAITING: not covered yet ... */
    struct db_texts reasons; /* ... and why, in parallel */
};
typedef void (*db_offer_done)(void *ctx, const struct db_status *status,
                              const struct db_offer *result);
void db_offer_activation(struct db *db, const char *flow, const char *worker_id, db_offer_done done,
                         void *ctx);

/* begin_idle: the session that listens will be told of what becomes visible from now on.
 * DB_IDLE_ASLEEP: of all that a claim sent from now on does not see; DB_IDLE_WATCHED: not of a
 * start that is open now; DB_IDLE_AWAKE: of nothing. `insist`: although a start may be open.
 * end_idle takes it back. Without that session: DB_UNSENT. */
enum db_idle { DB_IDLE_AWAKE, DB_IDLE_WATCHED, DB_IDLE_ASLEEP };
typedef void (*db_rest_done)(void *ctx, const struct db_status *status, const enum db_idle *result);
void db_begin_idle(struct db *db, const char *queue, bool insist, db_rest_done done, void *ctx);
void db_end_idle(struct db *db, db_done done, void *ctx);

/* Recovery and cleaning; does nothing when another host is at it. `requeued`:
 * tasks released to their queues. */
typedef void (*db_count_done)(void *ctx, const struct db_status *status, const int *requeued);
void db_maintain(struct db *db, db_count_done done, void *ctx);

/* ---- Statistics ---- */

struct db_queue_stats_row {
    const char *flow;
    const char *step;
    int64_t queued, started; /* tasks */
    int64_t oldest_ms;       /* for how long the oldest ready one has waited; -1: none is ready */
};
struct db_queue_stats {
    const struct db_queue_stats_row *rows; /* pairs with live tasks, whoever serves them */
    size_t count;
};
typedef void (*db_queue_stats_done)(void *ctx, const struct db_status *status,
                                    const struct db_queue_stats *result);
void db_queue_stats(struct db *db, const char *queue, db_queue_stats_done done, void *ctx);

struct db_drain_row {
    const char *flow;
    bool is_active;       /* an alias points at it */
    int64_t started_runs; /* -1: active, not counted */
};
struct db_drain {
    const struct db_drain_row *rows; /* of those asked for that are compiled */
    size_t count;
};
typedef void (*db_drain_done)(void *ctx, const struct db_status *status,
                              const struct db_drain *result);
void db_draining_runs(struct db *db, struct db_texts flows, db_drain_done done, void *ctx);

/* One text, borrowed; NULL: `status` says why. */
typedef void (*db_document_done)(void *ctx, const struct db_status *status, const char *text);
/* What the status page shows, JSON. */
void db_host_status(struct db *db, const char *queue, struct db_texts flows, db_document_done done,
                    void *ctx);
/* Every queue and function of the database, in the text format of Prometheus. */
void db_database_metrics(struct db *db, db_document_done done, void *ctx);

/* ---- Claims ---- */

enum db_claim_outcome {
    DB_CLAIM_STARTED,
    DB_CLAIM_BUSY,
    DB_CLAIM_STALE,
    DB_CLAIM_FOREIGN,
    DB_CLAIM_SUSPENDED,
    DB_CLAIM_UNSUPPORTED,
    DB_CLAIM_FENCED, /* the only row; reason */
    DB_CLAIM_EMPTY,  /* the only row; due_in_ms */
};

/*
 * One message. After the callback a row is freed, unless db_claim_row_own()
 * was called on it; then the caller owns it until db_claim_row_drop(). A row
 * shares nothing with its neighbours but the flow_input of its run, which they
 * share, so a long task pins its own payload only.
 */
struct db_claim_row {
    enum db_claim_outcome outcome;
    const char *queue; /* "" where the outcome has none; so are the other strings */
    const char *flow;
    const char *run_id;
    const char *step;
    int64_t msg_id;
    int task_index;
    int attempt;
    int max_attempts;
    int claim_no;
    int timeout_s;
    const char *input; /* JSON text as PostgreSQL printed it; NULL: input_error says why */
    size_t input_size;
    const char *flow_input; /* NULL: not wanted, and no row of its run in this claim wanted it. The
                             * database gives it once per run; every row of that run has it here,
                             * and the descriptor says whether the step gets it. */
    size_t flow_input_size;
    const char *input_error; /* NULL: none */
    bool body_mismatch;
    const char *reason; /* DB_CLAIM_FENCED: unknown, deprecated, stopped, standby, other_queue,
                         * must_stop, wrong_modules, not_in_manifest; NULL: none */
    int64_t due_in_ms;  /* DB_CLAIM_EMPTY: when the next message is due; -1: none waits;
                         * DB_CLAIM_STARTED, zero or less: since when the message was visible */
};

struct db_claim {
    struct db_claim_row *const *rows;
    size_t count; /* at least 1 */
};
typedef void (*db_claim_done)(void *ctx, const struct db_status *status,
                              const struct db_claim *result);

/* `quantity` 1 to LIMIT_BATCH; `visibility_s` of the read itself. `way`: behind the results put
 * before, on their connection, so that the claim sees what they make; or beside them on the
 * control connection, so that the database works on both at once. */
enum db_claim_way { DB_CLAIM_BEHIND_RESULTS, DB_CLAIM_BESIDE_RESULTS };
void db_read_and_claim_tasks(struct db *db, const char *queue, int quantity, int visibility_s,
                             const char *worker_id, struct db_pairs suspended,
                             enum db_claim_way way, db_claim_done done, void *ctx);

/* Lets the session of that way plan the statements of claims and results before the first of them
 * come. Changes nothing; a failure costs nothing but that time. */
void db_warm_up(struct db *db, const char *queue, enum db_claim_way way, db_done done, void *ctx);

/* To keep the row after the callback. */
void db_claim_row_own(struct db_claim_row *row);
/* Frees an owned row. Takes NULL. */
void db_claim_row_drop(struct db_claim_row *row);

/* ---- Results ---- */

struct db_task_ref {
    const char *run_id;
    const char *step;
    int task_index;
    int claim_no;
};

enum db_result { DB_RESULT_COMPLETED, DB_RESULT_FAILED, DB_RESULT_PERMANENT };

struct db_finish_item {
    struct db_task_ref task;
    enum db_result result;
    const char *output; /* DB_RESULT_COMPLETED: JSON text that passed json_check; else NULL */
    size_t output_size;
    const char *error; /* clean UTF-8 (text_clean); NULL when completed */
    int retry_after_s; /* -1: the backoff of the step */
};

enum db_finish_outcome {
    DB_FINISH_COMPLETED,
    DB_FINISH_RETRYING,
    DB_FINISH_FAILED,
    DB_FINISH_SKIPPED,
    DB_FINISH_AGAIN,
    DB_FINISH_LATE,
    DB_FINISH_GONE,
    DB_FINISH_REFUSED, /* the output cannot be stored: a failed attempt; detail says why */
};
struct db_finish_answer {
    enum db_finish_outcome outcome;
    const char *detail; /* NULL: none */
};
struct db_finished {
    const struct db_finish_answer *answers; /* in the order of the items */
    size_t count;                           /* as many as items */
    bool new_work;                          /* a message became visible now on the worker's queue */
};
typedef void (*db_finish_done)(void *ctx, const struct db_status *status,
                               const struct db_finished *result);
/* Outputs are copied once, unescaped (binary text[]). Keep a batch below
 * LIMIT_DB_FINISH_BYTES of outputs; a single item may be larger. An answer that
 * does not name every item is DB_ERROR, permanent (XX000). */
void db_finish_tasks(struct db *db, const char *worker_id, const struct db_finish_item *items,
                     size_t count, db_finish_done done, void *ctx);

struct db_release_item {
    struct db_task_ref task;
    bool started; /* its handler had started */
};
enum db_release_outcome { DB_RELEASED, DB_RELEASE_LATE, DB_RELEASE_GONE };
struct db_released {
    const enum db_release_outcome *outcomes; /* in the order of the items */
    size_t count;
};
typedef void (*db_release_done)(void *ctx, const struct db_status *status,
                                const struct db_released *result);
void db_release_tasks(struct db *db, const char *worker_id, const struct db_release_item *items,
                      size_t count, int delay_s, db_release_done done, void *ctx);

/* `in_flight`: every claim whose result is not acknowledged. The count is of released
 * tasks. */
void db_release_tasks_except(struct db *db, const char *worker_id,
                             const struct db_task_ref *in_flight, size_t count, db_count_done done,
                             void *ctx);

#endif
