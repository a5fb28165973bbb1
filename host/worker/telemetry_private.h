/*
 * struct telemetry, for telemetry*.c alone.
 */
#ifndef PGFLOW_WORKER_TELEMETRY_PRIVATE_H
#define PGFLOW_WORKER_TELEMETRY_PRIVATE_H

#include "observe/metrics.h"
#include "worker/telemetry.h"
#include "worker/worker_private.h"

struct http_server;

struct step_sample {
    int64_t queued, started;
    int64_t oldest_ms; /* -1: nothing is queued */
};

struct flow_sample {
    bool is_compiled, is_active;
    int64_t started_runs; /* -1: active, not counted */
};

/* What the database said last. Shown while the database is there and the last question was
 * answered: an old depth is worse than none. */
struct sample {
    unsigned calls_out;
    bool steps_refused, flows_refused; /* by the database, the last time; logged once */
    bool database_refused;
    bool has_steps, has_flows, has_database;
    uint64_t next_ns;          /* not to be asked for before */
    struct step_sample *steps; /* by pair, then one for all pairs that this host does not serve */
    struct flow_sample flows[LIMIT_MODULES];
    char *database; /* owned: the text about all queues and functions; NULL: none yet */
};

/* The document of the status page, kept so that any number of readers cost one question. */
struct status_cache {
    bool in_flight;
    bool is_refused;      /* by the database, the last time */
    uint64_t next_ns;     /* not to be asked for before */
    uint64_t answered_ns; /* when `document` came */
    char *document;       /* owned; NULL: none yet */
};

struct telemetry {
    struct metrics *metrics;
    struct http_server *http;
    double started_at; /* s since 1970 */
    struct sample sample;
    struct status_cache status;
};

/* telemetry_render.c */
void telemetry_render(const struct worker *worker, struct buf *text);

/*
 * telemetry_sample.c: notes the answer to `call`, one of the questions above. A refusal, such as a
 * right that is missing, is logged once until it was answered again: it must not stop the worker.
 * What was lost on the way says nothing about it. Gives how long to leave the database in peace.
 */
uint64_t telemetry_note_answer(const struct worker *worker, const struct db_status *status,
                               const char *call, bool *is_refused);

/* telemetry_status.c: /status.json */
void telemetry_answer_status(struct worker *worker, struct buf *text);

#endif
