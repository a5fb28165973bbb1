/*
 * A pool on a loop of its own, with the real pgflow-runner and the modules of
 * tests/plugins. Every wait is for an event, with a watchdog behind it.
 */
#ifndef PGFLOW_TESTS_POOL_HARNESS_H
#define PGFLOW_TESTS_POOL_HARNESS_H

#include "module/module_file.h"
#include "pool/pool.h"

#include <criterion/criterion.h>
#include <stdbool.h>

enum { HARNESS_MODULES = 8, HARNESS_LINES = 4096, HARNESS_EVENTS = 512 };

/* A submitted task and what became of it. */
struct record {
    struct pool_task task;
    char *params;
    int started; /* calls of on_started */
    int done;    /* calls of on_done */
    enum pool_outcome outcome;
    enum pool_cancel_why why;
    bool was_started, died;
    char *output, *error;
    int32_t retry_after_s;
    pid_t pid;
    uint64_t started_ns, done_ns;
    void (*then)(struct record *record); /* called in on_done */
    void *data;
};

struct harness_line {
    const struct pool_task *task;
    enum pool_stream stream;
    int level;
    pid_t pid;
    char *text;
};

struct harness {
    uv_loop_t loop;
    uv_timer_t watchdog;
    char folder[64];
    int runner_program;
    struct module_store *store;
    struct pool_config config;
    struct pool *pool;
    struct module_file *files[HARNESS_MODULES];
    struct pool_module *modules[HARNESS_MODULES];
    int module_count;
    struct harness_line lines[HARNESS_LINES];
    int line_count;
    char *events[HARNESS_EVENTS]; /* "name: text" */
    int event_levels[HARNESS_EVENTS];
    int event_count;
    int ready_count, suspended_count; /* on_module_state */
    char suspend_reason[LIMIT_ERROR_TEXT];
    bool closed;
    void (*after_close)(void); /* of the pool; may be NULL */
};

/* Zeroed memory of size 1 harness; the config may be changed between the calls. */
void harness_init(struct harness *h);
void harness_start(struct harness *h);
/* A module of tests/plugins by its name, inspected and added. */
struct pool_module *harness_add(struct harness *h, const char *name);
/* Closes the pool and checks that nothing is left: no child, no descriptor more
 * than before harness_init. */
void harness_finish(struct harness *h);

/* The place of a step in the module's descriptor. */
uint32_t harness_step(struct harness *h, struct pool_module *module, const char *slug);

/* `params` is the flow input of step `slug`. The record is the caller's. */
void harness_submit(struct harness *h, struct record *record, struct pool_module *module,
                    const char *slug, const char *params);
/* Submits and waits for its end. */
void harness_run(struct harness *h, struct record *record, struct pool_module *module,
                 const char *slug, const char *params);
void record_free(struct record *record);

/* Runs the loop until *flag is at least `wanted`. */
void harness_wait(struct harness *h, const int *flag, int wanted);
/* Runs the loop until the function says true. */
void harness_wait_for(struct harness *h, bool (*is_true)(struct harness *h, void *data),
                      void *data);

/* How many lines of that stream and task have exactly this text; task NULL: any. */
int harness_count_lines(const struct harness *h, const struct record *record,
                        enum pool_stream stream, const char *text);
bool harness_has_event(const struct harness *h, const char *beginning);
int harness_count_events(const struct harness *h, const char *beginning);
int harness_count_warnings(const struct harness *h, const char *beginning);

int harness_count_fds(void);

#endif
