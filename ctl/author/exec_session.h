/*
 * One handler in a real runner, as a host would run it, without a database: the
 * module is checked, copied and inspected, a pool starts one runner, and the
 * step is called a number of times, one after the other.
 */
#ifndef PGFLOW_CTL_AUTHOR_EXEC_SESSION_H
#define PGFLOW_CTL_AUTHOR_EXEC_SESSION_H

#include "base/buf.h"
#include "base/error.h"
#include "pool/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;
struct module_file;
struct module_store;

/* A module that may be called. */
struct exec_module {
    int runner_program;
    struct module_store *store;
    struct module_file *file;
    struct cJSON *descriptor;
    const char *flow; /* borrowed from the descriptor */
};

/* `pass_env` is borrowed until exec_module_close. On failure there is nothing to close. */
bool exec_module_open(struct exec_module *module, const char *path, const char *const *pass_env,
                      struct error *error) MUST_CHECK;
void exec_module_close(struct exec_module *module);

/* What to call. Everything is borrowed during exec_run. */
struct exec_request {
    uint32_t step; /* index in the descriptor */
    const char *input;
    size_t input_size;
    const char *flow_input; /* NULL: none */
    size_t flow_input_size;
    uint32_t attempt;
    int32_t max_attempts;
    uint32_t timeout_s;       /* 0: none */
    uint32_t calls;           /* at least 1; the first that fails is the last */
    size_t memory_mib;        /* of address space; 0: no limit */
    const char *const *under; /* see struct pool_config; the memory limit is off then */
    const char *const *pass_env;
    void (*on_line)(void *context, const struct pool_line *line);
    void *context;
};

/* Memory of the runner, in KiB of resident pages; 0: unknown. */
struct exec_memory {
    uint64_t ready; /* after init */
    uint64_t first; /* after the first call */
    uint64_t last;  /* after the last */
    uint64_t peak;
};

/* How the last call ended, and how long each took in the handler. */
struct exec_report {
    enum pool_outcome outcome;
    struct buf output;
    struct buf error;
    struct buf dropped;    /* output over the limit, in words; empty: none */
    struct buf left;       /* in the process, so that it was replaced; empty: nothing */
    int32_t retry_after_s; /* -1: not asked for */
    bool died;
    uint64_t *us; /* of each call, in order */
    uint32_t calls;
    struct exec_memory memory;
    int interrupted_by; /* a signal that ended it early; 0: none */
};

/* False: the module cannot be started, something of ours failed, or it was interrupted
 * by SIGINT, SIGTERM or SIGHUP, which then is still to be obeyed. A handler that fails is
 * a report. Free the report in any case. */
bool exec_run(const struct exec_module *module, const struct exec_request *request,
              struct exec_report *report, struct error *error) MUST_CHECK;
void exec_report_free(struct exec_report *report);

#endif
