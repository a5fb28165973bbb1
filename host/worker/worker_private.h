/*
 * struct worker and what its files offer to each other; nobody outside host/worker includes this.
 * A file calls downwards only (docs/internals/worker.md has the layers; the test docs.cycles holds
 * that no two files call each other around). What lies above learns of an event by the pump: the
 * file below notes it and wakes.
 *
 * Data flow: events of the loop (answers, runners, timers, signals) change the parts and call
 * worker_wake. The pump then runs once, before the loop sleeps again, whatever number of events
 * came in between: flush what is done, reclaim after a reconnect, claim for what is free, go on
 * with a drain. So results and the next claim leave together.
 */
#ifndef PGFLOW_WORKER_WORKER_PRIVATE_H
#define PGFLOW_WORKER_WORKER_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "db/calls.h"
#include "module/module_file.h"
#include "options/settings.h"
#include "pool/pool.h"
#include "registry/registry.h"
#include "worker/claim_depth.h"
#include "worker/idle.h"
#include "worker/lifecycle.h"
#include "worker/task.h"

struct worker;

struct worker_module {
    struct module_file *file;
    struct pool_module *pool;
    const struct deployment *deployment;
    bool answered; /* pool_warm was */
    bool suspended;
    char compilation[16], activation[16]; /* the database's words, for the banner */
    char active_flow[LIMIT_SLUG + 1];     /* of its alias; "" none */
    bool offer_open;                      /* to be offered for activation (again) */
};

enum startup_step {
    STARTUP_CONNECT,
    STARTUP_SCHEMA,
    STARTUP_TRACK,
    STARTUP_STATE,
    STARTUP_DEPLOY,
    STARTUP_COVERAGE,
    STARTUP_WARM,
    STARTUP_REGISTER,
    STARTUP_OFFER,
};

struct startup {
    enum startup_step step;
    size_t module;    /* of deploy and offer */
    bool call_is_out; /* of the current step */
    uv_timer_t retry;
};

/*
 * The rows of this process in pgflow.workers. `pending` is being registered: after a lost answer
 * nobody knows whether it exists, so it stays until a registration under it is answered.
 */
struct identity {
    char id[LIMIT_UUID_TEXT + 1]; /* "" none yet */
    char pending[LIMIT_UUID_TEXT + 1];
    bool standby;     /* id is a row that stands by */
    uint32_t version; /* counts registrations: answers of an earlier one are dropped */
};

struct activation {
    size_t module; /* the one whose offer is next or on its way */
    bool in_flight;
    void (*done)(struct worker *worker); /* NULL, or when each open offer was answered */
};

struct standby {
    bool call_is_out;
    bool is_explained;           /* the log says why it stands by, as it is now */
    enum db_fence_reason reason; /* what the database said last */
    bool is_awaited;             /* an open deployment waits for this code */
    char word[LIMIT_LOG_VALUE];  /* the same for /readyz and the status page */
    bool for_gap;                /* the queue is not covered: it is not ready */
    const char *ended;           /* why the start may go on; NULL: it may not */
};

/* The queue needs steps that no given module has: uncovered.c. */
struct uncovered {
    uint32_t questions; /* since it began to wait */
    uv_timer_t timer;
    char text[LIMIT_ERROR_TEXT]; /* what is missing */
};

struct claim_loop {
    bool in_flight;
    uint32_t asked;
    uint64_t sent_number; /* of worker.calls_sent: what was sent later sees what it left;
                           * 0: sent beside the results */
    bool backlog;         /* the last claim came back full */
    bool due;             /* there should be something: do not wait for the poll */
    uint64_t next_poll_ns, not_before_ns;
    uint64_t answered_ns;   /* the last one; for the heartbeat's silence */
    uint64_t idle_since_ns; /* 0: not idle; for --exit-when-idle */
    uint32_t failures;
    struct idle_backoff backoff;
    struct prefetch prefetch;
    uv_timer_t timer;
    uint64_t foreign_logged_ns; /* 0: never */
    uint64_t foreign_count;
    int64_t foreign_ids[LIMIT_FOREIGN_IDS_SHOWN];
    size_t foreign_shown;
};

/* One call that carries tasks; its answer is by place. */
struct result_batch {
    struct task *tasks[LIMIT_BATCH];
    size_t count;     /* 0: none on its way */
    size_t singly;    /* so many items go one by one */
    bool is_isolated; /* what is on its way was isolated before */
};

struct results {
    struct result_batch finish, release;
    uint64_t sent_number;
    uv_timer_t timer;
};

/* Claims go out in RECLAIM_NONE only. */
enum reclaim_state { RECLAIM_NONE, RECLAIM_WANTED, RECLAIM_SENT, RECLAIM_PAUSED };

struct reclaim {
    enum reclaim_state state;
    bool again; /* once more when the timer ends */
    uv_timer_t timer;
};

/* What is new since life.c took it last. */
struct heartbeat_news {
    bool ticked;                   /* 5 s are over */
    bool answered;                 /* with what follows */
    uint32_t version;              /* identity.version then */
    bool is_deprecated, must_stop; /* must_stop: never of a row that stands by */
};

struct heartbeat {
    bool in_flight;
    bool silent;          /* logged */
    uint64_t answered_ns; /* the last one, or the registration */
    uint32_t version;     /* identity.version when it was sent */
    uint64_t tick;
    bool again; /* once more when the one in flight is answered */
    struct heartbeat_news news;
    uv_timer_t timer;
};

struct maintenance {
    bool in_flight, due;
    uint64_t after_result; /* results made before it was due are to be acknowledged first */
    uv_timer_t timer;
};

enum drain_stage { DRAIN_FINISH, DRAIN_CANCEL, DRAIN_REPORT, DRAIN_DEREGISTER, DRAIN_CLOSE };
enum drain_then { DRAIN_THEN_EXIT, DRAIN_THEN_STANDBY };

struct drain {
    enum drain_stage stage;
    enum drain_then then;
    int code;
    bool bounded;      /* a signal asked for it: deadlines hold */
    bool hurried;      /* a second signal */
    bool keep_waiting; /* --once: tasks that wait for a runner still run */
    uint64_t deadline_ns;
    unsigned deregistrations_out;
};

struct worker {
    const struct settings *settings;
    const struct db_address *address;
    uv_loop_t loop;
    struct lifecycle life;
    bool closed;          /* runners and database are; the loop may end */
    struct error failure; /* the first reason for a code other than 0 */

    int runner_program;
    struct module_store *store;
    struct registry *registry;
    struct worker_module modules[LIMIT_MODULES];
    size_t module_count;
    uid_t handler_uid;
    gid_t handler_gid;
    uint64_t handler_files; /* descriptors that a handler may open; 0: as many as we */
    const char *queue;
    char function[LIMIT_FUNCTION_NAME + 1];
    char control_channel[64];  /* on which the database speaks to hosts of this function */
    char *info;                /* for registrations, JSON */
    struct db_pair *pairs;     /* all served ones, in the registry's order */
    struct db_pair *suspended; /* those of suspended modules */
    size_t suspended_count;

    struct db *db;
    bool up;
    uint64_t up_since_ns;
    struct pool *pool;
    uint64_t calls_sent;

    struct startup startup;
    struct identity identity;
    struct activation activation;
    struct standby standby;
    struct uncovered uncovered;
    struct task_table tasks;
    struct claim_loop claims;
    struct idle idle;
    struct results results;
    struct reclaim reclaim;
    struct heartbeat heartbeat;
    struct maintenance maintenance;
    struct drain drain;
    struct telemetry *telemetry; /* NULL without --metrics-listen */
    uv_timer_t drain_timer;
    uv_timer_t control_timer;
    uv_timer_t lateness;
    uv_timer_t watchdog;
    uv_idle_t pump;
    uv_idle_cb run_pump; /* worker.c's */
    uv_signal_t signals[4];
};

/* stop.c */
void worker_wake(struct worker *worker);
/* Wakes it at that time, or up to a millisecond before; replaces what the timer was set to. */
void worker_wake_at(struct worker *worker, uv_timer_t *timer, uint64_t at_ns);
/* Nothing is claimed from now on. A stop that is under way takes the stronger purpose. */
void stop_begin(struct worker *worker, enum drain_then then, int code, const char *why);
/* Remembers the first reason, then drains and exits with `code`. */
void worker_fail(struct worker *worker, int code, const char *format, ...) PRINTF_LIKE(3, 4);
/* Tasks that wait for a runner are recalled, to be released. */
void stop_recall_waiting(struct worker *worker);

/* close.c */
/* Everything is reported: closes the pool, then the database, then the loop's handles. */
void worker_close(struct worker *worker);
/* The same for a start that failed. */
void worker_close_all(struct worker *worker);

/* life.c */
void life_run(struct worker *worker);

/* descriptors.c: room for the runners' sockets and pipes, or an error */
bool descriptors_reserve(struct worker *worker, struct error *error) MUST_CHECK;

/* modules.c: steps 2 to 5, synchronous, nothing of the database */
bool modules_load(struct worker *worker, struct error *error) MUST_CHECK;
void modules_unload(struct worker *worker);
void modules_log_changed(struct worker *worker);

/* runners.c: the pool and its callbacks */
bool runners_create(struct worker *worker, struct error *error) MUST_CHECK;

/* database.c */
bool database_open(struct worker *worker, struct error *error) MUST_CHECK;

/* answer.c */
/* Of one statement: LIMIT_DB_DEADLINE_MS, or more where --max-payload allows large results. */
int answer_deadline_ms(const struct settings *settings);
/* True when the answer is there. Otherwise says what to do: a permanent refusal has failed the
 * worker already (as `what`); after anything else the caller tries again when the database is up.
 */
bool answer_is_there(struct worker *worker, const struct db_status *status, const char *what);

/* startup.c */
/* Goes on with a start, if one is under way. */
void startup_run(struct worker *worker);
/* A start after standing by. */
void startup_run_again(struct worker *worker, const char *why);
void startup_module_answered(struct worker *worker);

/* registration.c */
bool registration_make_info(struct worker *worker, struct error *error) MUST_CHECK;
void registration_send(struct worker *worker, bool standby, db_register_done done);
/* The pending row is the row now. */
void registration_take(struct worker *worker, bool standby);

/* activation.c */
/* Before the first offers: which modules are offered, and which are left to an operator. */
void activation_prepare(struct worker *worker);
/* The newest given version of an alias that points elsewhere, and this host leaves it so. */
bool activation_is_left(const struct worker *worker, const struct worker_module *module);
/* Offers what is open, one after the other. `done`: NULL, or called behind the last answer. */
void activation_offer_all(struct worker *worker, void (*done)(struct worker *worker));
void activation_offer_again(struct worker *worker);

/* check.c: the end of --check, a start up to the coverage in a transaction that is rolled back */
void check_end(struct worker *worker);

/* banner of the worker: start_banner.c */
void start_banner_show(const struct worker *worker);

/* standby.c */
/* False: --exit-if-disabled is given and the worker has failed. */
bool standby_enter(struct worker *worker, const char *why);
/* Until the queue is covered. */
void standby_for_gap(struct worker *worker);
/* The start may go on. */
void standby_end(struct worker *worker, const char *why);
/* Why, once; NULL: it may not, or the host stands by no more. */
const char *standby_take_end(struct worker *worker);
void standby_tick(struct worker *worker);
void standby_ask_whether_enabled(struct worker *worker);

/* standby_reason.c: remembers and logs why it stands by, when that is news. */
void standby_explain(struct worker *worker, const struct db_fence *fence);
/* Short, for the life cycle's log and --exit-if-disabled. */
const char *standby_why(enum db_fence_reason reason);
/* Standing by is what this host is to do: false where its code may never serve, and where it does
 * not cover the queue. */
bool standby_is_in_order(const struct worker *worker);

/* uncovered.c: the queue needs steps that no given module has */
/* False: the worker has failed. True: note_coverage_gap is to be asked. */
bool uncovered_may_be_noted(struct worker *worker, const struct db_coverage *missing);
/* `before`: an earlier start noted the same gap. */
void uncovered_noted(struct worker *worker, bool before);

/* claim_loop.c */
void claim_loop_run(struct worker *worker);
void claim_loop_start(struct worker *worker);
/* Something should be claimable. */
void claim_loop_expect_work(struct worker *worker);

/* idle_loop.c */
void idle_run(struct worker *worker);
void idle_on_listening(struct worker *worker, bool listening);

/* dispatch.c */
void dispatch_claim(struct worker *worker, const struct db_claim *claim, uint64_t claimed_ns);

/* result_batch.c */
/* False: one is on its way already, or nothing may go now. */
bool result_batch_fill(struct worker *worker, struct result_batch *batch, bool releases);
/* When the next isolated one may go; 0: none waits for its time. */
uint64_t result_batch_next_ns(const struct worker *worker);
/* The call failed: its tasks are to be sent again. They stay listed until result_batch_end. */
void result_batch_requeue(struct worker *worker, struct result_batch *batch);
/* One by one from now on. False: it was one already. */
bool result_batch_split(struct worker *worker, struct result_batch *batch);
void result_batch_isolate(struct worker *worker, struct result_batch *batch);
/* The call was answered, whatever the answer. */
void result_batch_end(struct result_batch *batch);

/* results.c */
void results_flush(struct worker *worker);
void results_take(struct worker *worker, struct task *task, const struct pool_result *result);

/* reclaim.c */
void reclaim_want(struct worker *worker);
void reclaim_run(struct worker *worker);

/* control.c */
bool control_make_channel(struct worker *worker, struct error *error) MUST_CHECK;
void control_heard(struct worker *worker);

/* heartbeat.c */
void heartbeat_start(struct worker *worker);
/* Out of turn: its answer may have something new. */
void heartbeat_now(struct worker *worker);
struct heartbeat_news heartbeat_take_news(struct worker *worker);
bool heartbeat_is_due(const struct worker *worker, uint64_t now_ns);

/* maintenance.c */
void maintenance_start(struct worker *worker);
void maintenance_want(struct worker *worker);
void maintenance_run(struct worker *worker);
bool maintenance_may_run(const struct worker *worker, uint64_t now_ns);

/* drain.c */
void drain_on_signal(struct worker *worker, int number);
void drain_run(struct worker *worker);

/* signals.c */
bool signals_open(struct worker *worker, struct error *error) MUST_CHECK;

/* notify_systemd.c: a datagram to $NOTIFY_SOCKET; nothing without it */
void notify_systemd(const char *state);
void notify_systemd_start_watchdog(struct worker *worker);

/* readiness.c: whether it claims or stands by, and a word for it, or why not. */
bool readiness_judge(const struct worker *worker, uint64_t now_ns, const char **word);

/* state_log.c: SIGUSR1 */
void state_log(const struct worker *worker);

#endif
