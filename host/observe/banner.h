/*
 * What a host shows when it begins to work. On a terminal (pretty) a block for people; in logfmt
 * and json one `host` event and one `deployment` event per concrete flow, through the log. Texts
 * may be empty, never NULL but where said.
 */
#ifndef PGFLOW_OBSERVE_BANNER_H
#define PGFLOW_OBSERVE_BANNER_H

#include <stdbool.h>

struct banner_host {
    const char *version, *queue, *function;
    const char *worker_id;  /* NULL: not registered (--check) */
    const char *database;   /* a label without credentials */
    const char *module_dir; /* NULL: no copies for debuggers */
    int concurrency, batch_size;
    bool listens;
};

struct banner_flow {
    const char *queue, *flow, *version, *alias;
    const char *active_flow; /* of the alias; "": none */
    const char *compilation; /* compiled, verified, recompiled */
    const char *activation;  /* activated, active, inactive, waiting, superseded */
    bool operator_switches;  /* the newest given of its alias, not active, and not offered */
    bool suspended;          /* its runner did not start */
    const char *queue_mode;
    const char *steps_here, *steps_elsewhere; /* comma-separated */
    const char *file, *build_id, *sha256;
};

void banner_show_host(const struct banner_host *host);
void banner_show_flow(const struct banner_flow *flow);
void banner_end(void);

#endif
