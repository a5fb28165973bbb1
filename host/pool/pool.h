/*
 * The runners of all modules of one host: starts them on demand, hands out
 * tasks, watches deadlines, finds who is to blame when one dies, replaces it,
 * and suspends a module that cannot start.
 *
 * Data flow: pool_submit() puts a task of the caller's on the queue of its
 * module. It goes to an idle runner; else, while fewer than `concurrency` are
 * busy, a runner is started for it; else it may wait in the socket of a busy
 * one. The payload is sent from the caller's memory. STARTED starts its clock
 * and calls on_started. The answer is read, the runner's stdout and stderr are
 * emptied into on_line up to the marker of that task, output and error text are
 * checked and cleaned, and on_done hands the result over. A death is turned
 * into the same on_done: failed for the one task in flight, while the tasks
 * waiting behind it move to another runner unblamed.
 *
 * Rules: one loop, one thread. No callback is ever called from inside a pool_
 * function: they come from the loop, later (pool_recall tells its answer at
 * once all the same). pool_ functions may be called in callbacks.
 * Nothing is polled: an idle pool wakes up for the end of idle runners only.
 */
#ifndef PGFLOW_POOL_POOL_H
#define PGFLOW_POOL_POOL_H

#include "base/error.h"
#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <uv.h>

struct module_file;
struct pool;
struct pool_module;
struct pool_task;

enum pool_outcome {
    POOL_COMPLETED, /* output is storable JSON text ("null" when nothing was written) */
    POOL_FAILED,    /* this attempt failed; error text, perhaps retry_after_s */
    POOL_PERMANENT, /* the handler said: no retry would help; error text */
    POOL_CANCELLED, /* stopped because of pool_cancel or pool_kill_all; `why` says which.
                       Run ended: drop it. Shutdown: release it, as started */
    POOL_RETURNED,  /* its handler never ran: release it as not started, uncounted */
};

enum pool_cancel_why {
    POOL_RUN_ENDED = 1, /* the run is over or the claim is gone */
    POOL_SHUTDOWN = 2,  /* this host stops */
};

/* All text is borrowed during the callback, NUL-terminated, and can be stored:
 * well-formed UTF-8 without NUL; the output passed json_check. */
struct pool_result {
    enum pool_outcome outcome;
    enum pool_cancel_why why; /* POOL_CANCELLED only */
    bool started;             /* its handler began */
    bool died;                /* the runner died of it, or was killed at its deadline */
    const char *output;       /* POOL_COMPLETED only */
    size_t output_size;
    const char *error; /* POOL_FAILED, POOL_PERMANENT; at most LIMIT_ERROR_TEXT - 1 */
    size_t error_size;
    int32_t retry_after_s; /* POOL_FAILED: 0 to a day; -1: the step's own backoff */
    uint64_t ms;           /* in the handler; 0 when it never began */
    uint64_t us;           /* the same in microseconds */
    pid_t pid;             /* of the runner; 0 when it never met one */
};

/* Memory of the caller's, from pool_submit until its on_done returns. */
struct pool_task {
    /* Set by the caller. The texts are borrowed until on_done. */
    struct pool_module *module;
    uint32_t step; /* index in the descriptor */
    uint32_t attempt;
    int32_t max_attempts;
    int32_t task_index;
    int64_t msg_id;
    uint32_t timeout_s; /* 0: none */
    char run_id[LIMIT_UUID_TEXT + 1];
    const char *input; /* at most the payload limit, as is flow_input */
    size_t input_size;
    const char *flow_input; /* NULL, 0: the step does not want it */
    size_t flow_input_size;
    void *data; /* the caller's */

    /* The pool's own; zero before pool_submit. */
    TAILQ_ENTRY(pool_task) link;
    struct runner *runner;
    uint64_t sequence;   /* order of submission */
    uint64_t number;     /* in that runner */
    uint64_t started_ns; /* uv_hrtime; 0: not started */
    uint8_t state;       /* enum task_state */
    uint8_t cancel_why;  /* enum pool_cancel_why, 0: not cancelled */
    bool timed_out;
};

enum pool_module_state { POOL_MODULE_READY, POOL_MODULE_SUSPENDED };

enum pool_stream {
    POOL_STDOUT,
    POOL_STDERR,
    POOL_LOG /* pgf_host.log */
};

/* One line that a module printed or logged, without its newline, cleaned. */
struct pool_line {
    struct pool_module *module;
    const struct pool_task *task; /* NULL: outside of any task (init, a thread of its own) */
    pid_t pid;
    enum pool_stream stream;
    int level;        /* POOL_LOG: PGF_LOG_DEBUG to PGF_LOG_ERROR; else PGF_LOG_INFO */
    const char *text; /* borrowed; NUL-terminated */
    size_t size;
};

/* What happened to runners, for the log. */
struct pool_event {
    const char *name; /* the log's `event`: runner_ready, runner_exit, runner_recycled,
                         runner_failed, module_held, module_ready */
    int level;        /* PGF_LOG_... */
    struct pool_module *module;
    const struct pool_task *task; /* the one that is blamed; may be NULL */
    pid_t pid;
    const char *text; /* borrowed; a sentence for people */
};

struct pool_callbacks {
    /* The handler is about to run; its clock starts. Exactly once for a task
     * whose result says `started`, never for another. */
    void (*on_started)(void *context, struct pool_task *task);
    /* Exactly once for each submitted task; the task is the caller's again. */
    void (*on_done)(void *context, struct pool_task *task, const struct pool_result *result);
    /* The answer to pool_warm, then each change. `reason` (suspended): for people. */
    void (*on_module_state)(void *context, struct pool_module *module, enum pool_module_state state,
                            const char *reason);
    void (*on_line)(void *context, const struct pool_line *line);    /* may be NULL */
    void (*on_event)(void *context, const struct pool_event *event); /* may be NULL */
};

struct pool_config {
    uv_loop_t *loop;
    int runner_program;     /* from runner_program_open; borrowed */
    uint32_t concurrency;   /* 1 to LIMIT_CONCURRENCY: runners busy or starting at once */
    size_t max_payload;     /* bytes: of an input, a flow input, an output */
    size_t handler_memory;  /* bytes of address space; 0: no limit */
    uint64_t handler_files; /* soft limit on open descriptors; 0: ours */
    bool handler_core;
    uid_t handler_uid; /* (uid_t)-1, (gid_t)-1: the host's own */
    gid_t handler_gid;
    uint32_t runner_max_tasks; /* then it is recycled; 0: never */
    uint32_t runner_idle_s;    /* then it is ended, but one a module stays; 0: never */
    const char *const
        *pass_env;            /* names, NULL-terminated, or NULL; borrowed while the pool lives */
    const char *const *under; /* a program and its options that runners run under (valgrind), found
                                 on the PATH; NULL-terminated, or NULL: none; borrowed likewise */
    struct pool_callbacks callbacks;
    void *context; /* handed to every callback */

    /* For tests; 0 or NULL: the real ones. */
    uint32_t ready_timeout_ms;        /* 10000: from spawn to READY, from TASK to STARTED */
    uint32_t grace_ms;                /* 2000: from the cooperative cancel to SIGKILL */
    const uint32_t *hold_schedule_ms; /* 1000, 5000, 30000, 60000, the last repeats; 0 ends
                                         it, and alone suspends it for good */
};

/* Becomes the subreaper of the host's orphans and ignores SIGPIPE. Everything
 * in `config` but what is said to be borrowed is copied. NULL: error. */
struct pool *pool_create(const struct pool_config *config, struct error *error) MUST_CHECK;

/* The pool borrows `file` until it is closed, and `flow` (the slug, for
 * messages). No runner is started. NULL: error. `data` is the caller's. */
struct pool_module *pool_add_module(struct pool *pool, const struct module_file *file,
                                    const char *flow, void *data, struct error *error) MUST_CHECK;
void *pool_module_data(const struct pool_module *module);
const char *pool_module_flow(const struct pool_module *module);

/* Brings one runner to READY if none is; on_module_state answers, also when the
 * module is ready already. At startup, before the worker is registered. */
void pool_warm(struct pool_module *module);

/* Queues a task; may be more than `concurrency` (prefetch). A task of a suspended
 * module comes back as POOL_RETURNED. */
void pool_submit(struct pool *pool, struct pool_task *task);

/* For a task that is late: true when its handler has not begun and now never
 * will; on_done follows with POOL_RETURNED. Certain at once, also for a task in
 * a runner's socket (wire/cancel_page.h). False: its handler runs, or is just
 * about to; in that last case it may still come back as POOL_RETURNED. */
bool pool_recall(struct pool *pool, struct pool_task *task);

/* Asks the handler to stop; two seconds later its runner is killed. A task that
 * has not begun is returned. A handler that ends with PGF_OK all the same is
 * completed; with PGF_CANCELLED, or killed, POOL_CANCELLED. The first `why`
 * counts, but POOL_SHUTDOWN gives way to POOL_RUN_ENDED. */
void pool_cancel(struct pool *pool, struct pool_task *task, enum pool_cancel_why why);

/* The host was told to stop. A runner that dies, or died within the last second, of such a signal
 * got it along with the host (a process group, a control group): its task ends as POOL_CANCELLED
 * (shutdown), and nobody is blamed. */
void pool_note_stop(struct pool *pool);

/* SIGKILL to every runner. Tasks in flight end as POOL_CANCELLED (shutdown) if
 * no complete answer was there, waiting ones as POOL_RETURNED. No runner is
 * started after it. */
void pool_kill_all(struct pool *pool);

/* For the metrics. */
enum pool_exit_cause {
    POOL_EXIT_IDLE,     /* ended by us: idle for long */
    POOL_EXIT_RECYCLED, /* ended by us: tasks, memory, or what a task left in it */
    POOL_EXIT_STOPPED,  /* ended by us: the pool closes */
    POOL_EXIT_KILLED,   /* killed by us: cancel or pool_kill_all */
    POOL_EXIT_TIMEOUT,  /* killed by us: deadline */
    POOL_EXIT_PROTOCOL, /* killed by us: it broke the protocol */
    POOL_EXIT_STUCK,    /* killed by us: it did not take up a task */
    POOL_EXIT_SIGNAL,   /* died of a signal */
    POOL_EXIT_STATUS,   /* exited by itself */
    POOL_EXIT_START,    /* before READY, for any reason */
    POOL_EXIT_CAUSES
};
const char *pool_exit_cause_name(enum pool_exit_cause cause);
/* Exits of one module since the start. */
uint64_t pool_module_exits(const struct pool_module *module, enum pool_exit_cause cause);

struct pool_gauges {
    uint32_t busy, idle, starting, stopping; /* runners */
    uint32_t queued;                         /* tasks not yet given to a runner */
    uint32_t prefetched;                     /* tasks behind another one in a runner's socket */
    uint64_t spawned;                        /* runners ever started */
};
struct pool_gauges pool_gauges(const struct pool *pool);

/* Ends every runner (STOP to idle ones so that fini runs, SIGKILL after the
 * grace; pool_kill_all for busy ones first, if there are any), frees every
 * task by on_done, closes every handle, frees the pool and its modules, then
 * calls `on_closed` as the last thing. Nothing of the pool is used after this
 * call but what its callbacks hand over. */
void pool_close(struct pool *pool, void (*on_closed)(void *context));

#endif
