/*
 * What a database needs of its hosts, as pgflow.needs_snapshot gives it (sql/core/50_coverage),
 * from the database or from a file that `pgflowctl snapshot` wrote. The file is foreign: nothing in
 * it is believed before it was looked at, and its digest must be that of what it says.
 */
#ifndef PGFLOW_CTL_PREFLIGHT_SNAPSHOT_H
#define PGFLOW_CTL_PREFLIGHT_SNAPSHOT_H

#include "base/buf.h"
#include "base/error.h"
#include "base/json_view.h"
#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db_sync;

enum { SNAPSHOT_TIME = 48, SNAPSHOT_DIGEST = 80, SNAPSHOT_MAX = 256 * LIMIT_MIB };

struct snapshot_flow {
    char slug[LIMIT_SLUG + 1], alias[LIMIT_SLUG + 1];
    struct json_view deployment; /* what flow_compare takes */
    bool in_service, active, superseded;
};

struct snapshot_queue {
    char name[LIMIT_SLUG + 1];
    char kind[16];              /* flow, step or shared; "": pgflow does not know it */
    char owner[LIMIT_SLUG + 1]; /* "": shared, or not known */
    uint64_t spellings;         /* in PGMQ; 0: it was dropped */
};

enum snapshot_reason { NEEDED_ACTIVE, NEEDED_DRAINING, NEEDED_EXECUTABLE, NEEDED_RECOVERABLE };
enum { SNAPSHOT_REASONS = 4 };
extern const char *const snapshot_reason_words[SNAPSHOT_REASONS];

struct snapshot_need {
    char queue[LIMIT_SLUG + 1], flow[LIMIT_SLUG + 1], step[LIMIT_SLUG + 1];
    bool reasons[SNAPSHOT_REASONS];
    uint64_t runs, tasks;
    bool runs_at_least, tasks_at_least;
    char oldest[SNAPSHOT_TIME]; /* "": nothing waits */
};

/* Hosts that do the same. */
struct snapshot_host {
    char queue[LIMIT_SLUG + 1];
    char function[LIMIT_FUNCTION_NAME + 1]; /* cut */
    bool standby, enabled;
    uint64_t hosts;
    struct json_view pairs; /* [{flow, step}]; empty: it registers none */
};

struct snapshot {
    struct buf text; /* of the document */
    char taken_at[SNAPSHOT_TIME], digest[SNAPSHOT_DIGEST];
    uint64_t schema_version, oldest_host;
    bool is_local;
    struct snapshot_flow *flows;
    struct snapshot_queue *queues;
    struct snapshot_need *needs;
    struct snapshot_host *hosts;
    size_t flow_count, queue_count, need_count, host_count;
};

/* "sha256:..." of everything in it but its digest, whatever the layout and the order of members. */
bool snapshot_digest(struct json_view snapshot, char digest[SNAPSHOT_DIGEST],
                     struct error *error) MUST_CHECK;

/* From the database, in one call. ERROR_CONFIG where its schema is too old to give one. The text is
 * the document with its digest, an object on one line. */
bool snapshot_fetch(struct db_sync *db, struct buf *text, struct error *error) MUST_CHECK;

/* Takes the text over. `snapshot` is zeroed before and freed after, also when this fails.
 * ERROR_CONFIG: it is none, it was changed, or it is of a schema that this program does not know.
 */
bool snapshot_read(struct snapshot *snapshot, struct buf *text, struct error *error) MUST_CHECK;
void snapshot_free(struct snapshot *snapshot);

/* Seconds since it was taken, by this machine's clock. */
double snapshot_age(const struct snapshot *snapshot);

/* NULL: there is none of exactly that slug. */
const struct snapshot_flow *snapshot_flow(const struct snapshot *snapshot, const char *slug);
const struct snapshot_queue *snapshot_queue(const struct snapshot *snapshot, const char *name);
/* The active version of an alias, or NULL. */
const struct snapshot_flow *snapshot_active(const struct snapshot *snapshot, const char *alias);
/* Whether such a host works on that queue: neither standing by nor disabled. */
bool snapshot_host_works(const struct snapshot_host *host, const char *queue);
bool snapshot_host_has(const struct snapshot_host *host, const char *flow, const char *step);
/* Of a host's pairs. */
bool snapshot_next_pair(struct json_walk *walk, char flow[LIMIT_SLUG + 1],
                        char step[LIMIT_SLUG + 1]);

#endif
