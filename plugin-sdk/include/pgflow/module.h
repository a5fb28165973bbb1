/* SPDX-License-Identifier: Apache-2.0
 *
 * The module ABI of pgflow, version 1.1. A flow module is a shared object that exports one symbol,
 * `pgflow_module_v1`: const data that describes one flow and points to its handlers. C99, C++11;
 * no library to link. The guide is docs/plugin-authors.md.
 *
 * Tags:  [scan]    read, or called, in every process that maps the module, also in one that only
 *                  inspects it; from load to exit.
 *        [worker]  on the one thread that runs init, the handlers (one at a time) and fini.
 * Words: borrowed  the callee may read it until the call returns, and keeps nothing of it.
 *        static    must stay valid and unchanged from load to exit.
 *        copied    the callee takes what it needs before it returns.
 *
 * Rules for every module: memory is never freed across the border. No exception, panic or longjmp
 * leaves a handler. A module is never unloaded. Zeroed memory means "the default" everywhere, so
 * fill what you need; reserved words must be 0. Structs grow only at their end: a field that is
 * newer than 1.0 exists in a struct of the host only if PGF_HAS() says so. */
#ifndef PGFLOW_MODULE_H
#define PGFLOW_MODULE_H

#include <stddef.h>
#include <stdint.h>

#define PGF_MAGIC 0x4D464750u /* the bytes P G F M on a little-endian machine */
#define PGF_ABI_MAJOR 1u      /* also in the symbol's name: another major is another symbol */
#define PGF_ABI_MINOR 1u      /* of this header */

/* pgf_step.kind */
#define PGF_STEP_SINGLE 0u /* one task */
#define PGF_STEP_MAP 1u    /* one task for each element of the array it depends on */
/* pgf_step.flags */
#define PGF_WANTS_FLOW_INPUT 1u /* fill pgf_call.flow_input; not for a map without dependency */
#define PGF_MAY_GROW                                                                               \
    1u /* pgf_module.flags, 1.1: any task may leave more threads, files, children */
/* pgf_module.queue_mode: which queue carries the tasks of a step; names are folded to lower case */
#define PGF_QUEUE_FLOW 0u   /* all steps: <flow_slug> */
#define PGF_QUEUE_STEP 1u   /* each step its own: <flow_slug>__<step slug> */
#define PGF_QUEUE_ROUTED 2u /* each step names its pgf_step.queue */
/* What a handler returns; any other value counts as PGF_ERROR. */
#define PGF_OK 0        /* the result is what was written; nothing written is the JSON null */
#define PGF_ERROR 1     /* this attempt failed; the step's retry options decide what follows */
#define PGF_PERMANENT 2 /* failed, and no retry would help */
#define PGF_CANCELLED 3 /* stopped early because is_cancelled() said so */
/* Levels of pgf_host.log */
#define PGF_LOG_DEBUG 0
#define PGF_LOG_INFO 1
#define PGF_LOG_WARN 2
#define PGF_LOG_ERROR 3

/* The symbol is visible though modules are compiled with hidden visibility. In C++ the "C" linkage
 * is part of the macro, and makes a declaration without initialiser an extern one. */
#ifdef __cplusplus
#define PGF_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define PGF_EXPORT __attribute__((visibility("default")))
#endif

/* The first four words of a pgf_module. */
#define PGF_MODULE_HEADER PGF_MAGIC, PGF_ABI_MAJOR, PGF_ABI_MINOR, (uint32_t)sizeof(pgf_module)
/* Pointer, count and stride of an array of steps: the initialisers of steps, n_steps, step_size. */
#define PGF_ARRAY(a) (a), (uint32_t)(sizeof(a) / sizeof((a)[0])), (uint32_t)sizeof((a)[0])
/* A pgf_int that is set. Left out or zeroed it means "inherit". */
/* clang-format off */
#define PGF_INT(n) {1, (n)}
/* clang-format on */
/* Does *p, as large as its struct_size says, have the field? */
#define PGF_HAS(p, type, field)                                                                    \
    ((p)->struct_size >= offsetof(type, field) + sizeof(((type *)0)->field))

typedef struct pgf_str pgf_str;
typedef struct pgf_int pgf_int;
typedef struct pgf_options pgf_options;
typedef struct pgf_host pgf_host;
typedef struct pgf_call pgf_call;
typedef struct pgf_step pgf_step;
typedef struct pgf_module pgf_module;

/* Text at run time: UTF-8, len bytes, no terminating NUL promised; len 0: ptr may be NULL. */
struct pgf_str {
    const char *ptr;
    size_t len;
};

struct pgf_int {
    uint32_t is_set; /* 0: inherit, value is ignored; 1 */
    int32_t value;
};

/* [scan] static. A step inherits from its flow, the flow from the defaults in brackets. */
struct pgf_options {
    uint32_t struct_size;  /* sizeof(pgf_options); 0: its size in 1.0 */
    uint32_t reserved;     /* 0 */
    pgf_int max_attempts;  /* 1..1000 [3] */
    pgf_int base_delay_s;  /* 0..86400 [5]; the wait after attempt n is base_delay * 2^n */
    pgf_int timeout_s;     /* 1..604800 [60]; of one attempt, from the start of the handler */
    pgf_int start_delay_s; /* 0..31536000 [0]; of a step only: from ready to visible */
};

/* The host's services. [worker] valid from init until fini returns; borrowed by the module. */
struct pgf_host {
    uint32_t struct_size; /* as large as the host knows it: see PGF_HAS */
    uint32_t abi_minor;   /* the host's */
    void *ctx;            /* the host's own */
    /* Log text, tagged with flow, step, run and task where there is one. text: UTF-8, copied. */
    void (*log)(const pgf_host *host, int32_t level, const char *text, size_t len);
    /* The service called id, "pgflow.<name>/<rev>"; NULL when unknown. id: borrowed. The result is
     * valid as long as the host, and is never freed. */
    const void *(*extension)(const pgf_host *host, const char *id);
};

/* One attempt of one task. [worker] The struct, all it points to and all that alloc gave are
 * borrowed by the handler and gone when it returns. */
struct pgf_call {
    uint32_t struct_size; /* as large as the host knows it: see PGF_HAS */
    uint32_t attempt;     /* from 1; a lost attempt counts, so effects must bear repetition */
    void *ctx;            /* the host's own */
    const pgf_host *host;
    pgf_str flow_slug; /* the concrete flow, as in pgf_module */
    pgf_str step_slug;
    pgf_str run_id;     /* a UUID in text form */
    int64_t msg_id;     /* of the queue message: unique with the queue's name, not by itself */
    int32_t task_index; /* of the element in a map, from 0; 0 in a single step */
    int32_t max_attempts;
    /* JSON text as PostgreSQL printed it. Single step: an object {dependency: its output} of the
     * completed dependencies (skipped ones are absent), {} without any. Map: the bare element. */
    pgf_str input;
    /* The run's input, in single steps without dependency and with PGF_WANTS_FLOW_INPUT. */
    pgf_str flow_input;
    uint64_t deadline_ns; /* on CLOCK_MONOTONIC: asked to stop then, killed 2 s later; 0: none */
    /* Append to the result, in the end one JSON value. Copied. 0: done. Otherwise it is over the
     * limit: nothing was appended, every later write fails too, and so does this attempt. */
    int32_t (*write)(const pgf_call *call, const char *json, size_t len);
    /* Say why this attempt fails. Copied; UTF-8, cut at 4 KiB; the last call counts. */
    void (*set_error)(const pgf_call *call, const char *text, size_t len);
    /* If this attempt ends in PGF_ERROR, try again after so many seconds (at most a day) instead of
     * the step's backoff. Does not add attempts. */
    void (*retry_after)(const pgf_call *call, uint32_t seconds);
    /* Scratch memory, uninitialised, aligned for any type; the host drops it after the call, never
     * free it. NULL when there is none. */
    void *(*alloc)(const pgf_call *call, size_t size);
    /* Non-zero once the deadline passed, the run ended or the host stops: return PGF_CANCELLED. One
     * atomic load, so ask often; also from threads that the handler started and will join. */
    int32_t (*is_cancelled)(const pgf_call *call);
};

/* [worker] Runs one attempt and returns PGF_OK and so on. state: what init stored, else NULL. */
typedef int32_t (*pgf_handler)(void *state, const pgf_call *call);

/* [scan] static; text is NUL-terminated UTF-8, at most 4 KiB (patterns 64 KiB). */
struct pgf_step {
    uint32_t struct_size; /* sizeof(pgf_step); 0: the module's step_size */
    uint32_t kind;        /* PGF_STEP_... */
    uint32_t flags;       /* PGF_WANTS_FLOW_INPUT or 0 */
    uint32_t reserved;    /* 0 */
    const char *slug;     /* 1..128 letters, digits, single inner '_'; no digit first; not "run" */
    const char *const *deps;    /* slugs of earlier steps, NULL-terminated; NULL: none. Map: <= 1 */
    const char *queue;          /* PGF_QUEUE_ROUTED: its queue, at most 47 bytes; otherwise NULL */
    const pgf_options *options; /* NULL: inherit all */
    const char *required_input; /* a JSON object that the input must contain; NULL: any */
    const char *forbidden_input; /* a JSON object that the input must not contain; NULL: none */
    const char *when_unmet;      /* "fail" the run, "skip" [NULL], "skip-cascade" */
    const char *when_exhausted;  /* no attempts left: "fail" [NULL], "skip", "skip-cascade" */
    const char *contract;        /* names what goes in and out, compared between builds; or NULL */
    pgf_handler run;             /* [worker] never NULL */
};

/* [scan] static. */
struct pgf_module {
    uint32_t magic;        /* PGF_MAGIC */
    uint32_t abi_major;    /* PGF_ABI_MAJOR */
    uint32_t abi_minor;    /* PGF_ABI_MINOR of the header it was built with */
    uint32_t struct_size;  /* sizeof(pgf_module) */
    uint32_t needs_minor;  /* the least minor of a host that can run it, usually 0 */
    uint32_t flags;        /* PGF_MAY_GROW (then needs_minor is at least 1) or 0 */
    const char *flow_slug; /* the concrete flow, as pgf_step.slug; another shape is another slug */
    const char *alias;     /* what callers start; NULL: the flow_slug */
    const char *version;   /* shown to people; NULL: none */
    uint32_t queue_mode;   /* PGF_QUEUE_... */
    uint32_t reserved;     /* 0 */
    const pgf_options *options; /* of the flow, without start_delay_s; NULL: the defaults */
    const pgf_step *steps;      /* PGF_ARRAY(steps) fills these three; 1..1000 steps */
    uint32_t n_steps;
    uint32_t step_size; /* bytes from step to step */
    /* [worker] Once, before any handler, within 10 s; may be NULL. *state starts as NULL and is
     * handed to every handler. 0: ready; otherwise the last log line is shown as the reason. */
    int32_t (*init)(const pgf_host *host, void **state);
    /* [worker] Last, after an init that gave 0; may be NULL. Not called after a crash or kill. */
    void (*fini)(void *state);
    /* [scan] The module's own extension called id (borrowed), static, or NULL; a pure look-up that
     * needs no init. May be NULL. */
    const void *(*extension)(const char *id);
};

/* The one symbol. A module defines it: PGF_EXPORT const pgf_module pgflow_module_v1 = {...}; */
#ifdef __cplusplus
PGF_EXPORT const pgf_module pgflow_module_v1;
#else
extern PGF_EXPORT const pgf_module pgflow_module_v1;
#endif

#endif
