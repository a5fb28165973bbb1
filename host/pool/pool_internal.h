/*
 * The inside of the pool, shared by the files pool*.c and runner*.c only.
 *
 * A runner is on exactly one list of its module, that of its state;
 * runner_set_state is the only function that moves it. docs/internals/
 * supervise.md has the life cycle as a table of state and event.
 *
 * Nothing here is freed while a callback may still look at it: runners are freed
 * in the close callback of their last handle, modules with the pool.
 */
#ifndef PGFLOW_POOL_POOL_INTERNAL_H
#define PGFLOW_POOL_POOL_INTERNAL_H

#include "base/buf.h"
#include "module/module_file.h"
#include "pool/pool.h"
#include "pool/reaper.h"
#include "wire/cancel_page.h"
#include "wire/frame.h"
#include "wire/residue.h"

#include <pgflow/module.h>

enum runner_state {
    RUNNER_STARTING, /* spawned, READY awaited */
    RUNNER_IDLE,     /* READY, no task */
    RUNNER_BUSY,     /* at least one unanswered task */
    RUNNER_STOPPING, /* STOP was sent, exit awaited */
    RUNNER_KILLED,   /* SIGKILL was sent, exit awaited */
    RUNNER_EXITED,   /* reaped; the rest of its output is read, 100 ms at most */
    RUNNER_CLOSING,  /* tasks settled, handles being closed */
    RUNNER_STATES
};

enum task_state {
    TASK_NEW,
    TASK_QUEUED,    /* in its module's queue */
    TASK_SENT,      /* in a runner's ring */
    TASK_RECALLING, /* recalled, but perhaps too late: the answer tells */
    TASK_RUNNING,   /* STARTED came */
    TASK_RETURNING, /* in pool.returning: on_done follows from the loop */
    TASK_DONE,
};

struct task_list {
    TAILQ_HEAD(, pool_task) tasks;
    uint32_t count;
};

/* A TASK frame that is not answered yet. */
struct runner_slot {
    uint64_t number;
    struct pool_task *task; /* NULL: recalled; NOT_RUN will come */
    bool started;           /* STARTED came */
};

/* stdout or stderr of a runner, cut into lines. */
struct runner_output {
    struct runner *runner;
    enum pool_stream stream;
    int fd;
    uv_poll_t poll;
    bool ended;         /* end of file */
    uint64_t marker;    /* number of the marker that parsing waits at; 0: none */
    bool answered;      /* the runner is dead, its answers are taken: markers mean nothing */
    struct buf pending; /* read, not yet a whole line */
    size_t task_bytes;  /* printed by the task in flight */
};

struct runner {
    struct pool *pool;
    struct pool_module *module;
    TAILQ_ENTRY(runner) link; /* on the list of its state */
    enum runner_state state;
    enum pool_exit_cause cause; /* why it ends; meaningful from STOPPING on */
    pid_t pid;

    uv_process_t process;
    uv_poll_t socket_poll;
    uv_timer_t timer;
    int open_handles;
    uint64_t due_ms;   /* when the timer matters; 0: it does not */
    uint64_t armed_ms; /* when it rings; 0: not armed */

    int socket;
    bool socket_ended;
    struct cancel_page *page;
    struct frame_reader reader;

    /* The unanswered frames, oldest first. */
    struct runner_slot ring[CANCEL_PAGE_SLOTS];
    uint32_t ring_first, ring_count;
    uint64_t last_number;

    /* The frame that the socket did not take whole: its task's memory, or our
     * copy of the rest when the task was recalled. */
    struct pool_task *unsent_task;
    size_t unsent_offset;
    char *unsent_copy;
    size_t unsent_copy_size;

    struct runner_output out[2]; /* POOL_STDOUT, POOL_STDERR */
    char stderr_tail[LIMIT_STDERR_TAIL];
    size_t stderr_tail_size;

    uint64_t tasks_done;
    uint64_t address_space;
    struct frame_crash crash; /* signal 0: no note came */
    int64_t exit_status;      /* from the kernel, once EXITED */
    int exit_signal;
    bool out_of_memory; /* struct result_death */
    uint32_t residue;   /* what a task left in it (wire/residue.h): it runs no further one */
    bool ready_came;
    bool awaits_stop;     /* a stop signal ended it: is the host about to be told as well? */
    bool output_unheard;  /* output was read after its answers were */
    struct error failure; /* FAILED's text, or how the protocol was broken */
};

struct runner_list {
    TAILQ_HEAD(, runner) runners;
    uint32_t count;
};

enum module_standing {
    MODULE_UNTRIED, /* no runner was READY yet */
    MODULE_READY,
    MODULE_SUSPENDED,
};

struct pool_module {
    struct pool *pool;
    const struct module_file *file;
    char *flow;
    void *data;
    struct runner_list runners[RUNNER_STATES];
    struct task_list queue;

    enum module_standing standing;
    uint32_t short_tasks; /* handlers in a row that took less than LIMIT_SHORT_TASK_US */
    uint32_t deaths;      /* in a row, no task finished between them */
    uint32_t suspensions; /* in a row: place in the schedule */
    bool announce;        /* on_module_state is due from the loop */
    bool spawn_paused;    /* no further runner could be started; `retry` ends it */
    bool shortage_logged; /* until a further one is READY */
    char *suspend_reason; /* may be NULL */
    uv_timer_t retry;

    uint64_t exits[POOL_EXIT_CAUSES];
    uint32_t residue_logged; /* bits that the log had at warn */
};

struct pool {
    struct pool_config config;
    struct pool_module *modules[LIMIT_MODULES];
    uint32_t module_count;
    uint32_t runners_in[RUNNER_STATES]; /* over all modules */
    uint32_t task_count;                /* submitted, not done */
    uint32_t prefetched;                /* live tasks in rings, behind the oldest */
    uint64_t sequence;
    uint64_t spawned;
    struct task_list returning;
    uv_timer_t deferred;  /* zero: runs what must not run inside a pool_ function */
    uv_timer_t rebalance; /* a task waits behind a handler that takes its time */
    struct reaper *reaper;
    char **environment; /* of the runners */
    char *scratch;      /* LIMIT_POOL_SCRATCH bytes for reading */
    bool stopping;      /* pool_note_stop */
    bool killing;       /* pool_kill_all: start nothing */
    bool closing;
    int open_handles;
    void (*on_closed)(void *context);
    int64_t oom_kills;    /* of the kernel, as last read */
    uint64_t oom_kill_ns; /* when that had risen */
};

enum {
    LIMIT_POOL_SCRATCH = 64 * LIMIT_KIB,
    LIMIT_PREFETCH_PAYLOAD = 16 * LIMIT_KIB, /* larger tasks wait in the queue */
    LIMIT_REBALANCE_AFTER_MS = 5,
    LIMIT_STARTING_AT_ONCE = 8,
    LIMIT_SHORT_TASK_US = 500,
    LIMIT_SHORT_TASKS_IN_A_ROW = 20,
    LIMIT_OUTPUT_AFTER_DEATH_MS = 100,
    LIMIT_STOP_AFTER_DEATH_MS =
        1000, /* whoever signals one process after the other is that quick */
    LIMIT_EXIT_AFTER_SOCKET_MS = 2000, /* a dying process closes its socket first */
    LIMIT_DEATHS_IN_A_ROW = 5,
    LIMIT_READY_TIMEOUT_MS = 10000,
    LIMIT_GRACE_MS = 2000,
    LIMIT_SPAWN_PAUSE_MS = 1000,
    LIMIT_OOM_BURST_MS = 2000, /* one shortage ends several processes */
};

/* task_list.c */
void task_list_init(struct task_list *list);
struct pool_task *task_list_first(const struct task_list *list); /* NULL: it is empty */
void task_list_append(struct task_list *list, struct pool_task *task);
void task_list_prepend(struct task_list *list, struct pool_task *task);
void task_list_remove(struct task_list *list, struct pool_task *task);

/* pool.c */
void pool_defer(struct pool *pool);
/* The task's on_done comes from the loop, as POOL_RETURNED. It is on no list. */
void pool_return_task(struct pool *pool, struct pool_task *task);
/* on_done now; only from the loop. */
void pool_finish_task(struct pool *pool, struct pool_task *task, struct pool_result *result);
void pool_emit(struct pool_module *module, const char *name, int level,
               const struct pool_task *task, pid_t pid, const char *format, ...) PRINTF_LIKE(6, 7);
/* After a runner was freed or a handle closed. */
void pool_continue_close(struct pool *pool);

/* pool_dispatch.c */
void pool_enqueue(struct pool *pool, struct pool_task *task, bool first);
void pool_dispatch(struct pool *pool);
/* How many of `queued` tasks, at least one, the next idle runner of the module gets at once. */
uint32_t module_batch_size(const struct pool_module *module, uint32_t queued);

/* pool_suspend.c */
/* A runner of it is READY. */
void module_note_ready(struct pool_module *module);
bool module_has_ready_runner(const struct pool_module *module);
/* A runner died before READY. */
void module_note_failed_start(struct pool_module *module, const char *reason);
/* None could be spawned: suspended, unless others serve; then these go on alone for a second. */
void module_note_failed_spawn(struct pool_module *module, const char *reason);
/* A runner died with a task. */
void module_note_death(struct pool_module *module, const char *reason);
/* A task was answered. */
void module_note_finished(struct pool_module *module, uint64_t us);
void module_return_queue(struct pool_module *module);

/* runner_spawn.c */
struct runner *runner_spawn(struct pool_module *module, struct error *error) MUST_CHECK;
void runner_close_handles(struct runner *runner);

/* runner.c */
void runner_set_state(struct runner *runner, enum runner_state state);
void runner_link(struct runner *runner);           /* a new one: STARTING */
void runner_forget(struct runner *runner);         /* before it is freed */
bool runner_is_alive(const struct runner *runner); /* not yet reaped */
void runner_set_due(struct runner *runner, uint64_t due_ms);
void runner_stop(struct runner *runner, enum pool_exit_cause cause);
void runner_kill(struct runner *runner, enum pool_exit_cause cause);
/* Its socket ended: its exit is on the way, unless something closed the
 * descriptor; then it is killed a moment later. Nothing is sent to it any more. */
void runner_lose(struct runner *runner);
/* The oldest frame is to be taken up now: STARTED or NOT_RUN follows at once. */
void runner_expect_start(struct runner *runner);
/* The page tells the handler in flight; after the grace it is killed. */
void runner_ask_to_stop(struct runner *runner);
/* No unanswered frame is left: idle, or recycled. */
void runner_go_idle(struct runner *runner);
void runner_on_exit(uv_process_t *process, int64_t exit_status, int term_signal);
void runner_on_socket(uv_poll_t *poll, int status, int events);
void runner_on_output(uv_poll_t *poll, int status, int events);
/* It died of a signal that stops the host too, or exited as if it had. */
bool runner_was_stopped(const struct runner *runner);

/* runner_send.c */
struct runner_slot *runner_slot_at(struct runner *runner, uint32_t place);
struct runner_slot *runner_head(struct runner *runner); /* NULL: none */
void runner_drop_head(struct runner *runner);
/* Can it take a task behind those that it has? */
bool runner_can_prefetch(const struct runner *runner, const struct pool_task *task);
void runner_send_task(struct runner *runner, struct pool_task *task);
void runner_send_rest(struct runner *runner);
void runner_watch_socket(struct runner *runner);
/* True: the handler of this task will never begin, and no list or ring knows it
 * any more. False: it began, or the answer will tell. */
bool runner_recall(struct runner *runner, struct pool_task *task);

/* It runs none of the tasks in its ring any more, and answers for each that it did not: they are
 * placed anew. */
void runner_abandon_waiting(struct runner *runner);

/* runner_answer.c */
/* on_started, once its handler certainly runs or ran. */
void runner_tell_started(struct pool_task *task);
/* Reads what is there, handles every complete frame, and hands out the output whose
 * task that tells. */
void runner_read_answers(struct runner *runner);

/* runner_death.c */
/* Settles the tasks of a dead runner: one is blamed at most. */
void runner_settle(struct runner *runner);

/* runner_output.c */
void runner_output_init(struct runner *runner, enum pool_stream stream, int fd);
/* Reads what is there; takes the answers before it hands out lines. */
void runner_output_read(struct runner_output *output);
/* The answer of task `number` is in hand, and promised a marker: hands out all before it. */
void runner_output_read_to_marker(struct runner_output *output, uint64_t number);
/* The whole lines that were read, up to a marker; only when no answer is unread. */
void runner_output_hand_out(struct runner_output *output);
/* The runner is dead: marks mean nothing any more. */
void runner_output_read_last(struct runner_output *output);
void runner_output_begin_task(struct runner *runner);
/* The rest without a newline, at the end. */
void runner_output_flush(struct runner_output *output);
/* What the runner logged through pgf_host.log. */
void runner_output_log(struct runner *runner, uint64_t number, int level, const char *text,
                       size_t size);
void runner_output_finish(struct runner_output *output);

#endif
