/*
 * The deployment descriptor of a module, read out of its memory and checked.
 *
 * The module is foreign code: nothing in its pgf_module is believed. Data flow:
 *
 *   symbol -> probe (process_vm_readv on ourselves: a bad pointer is an error,
 *   not a crash) -> fixed-size parts copied and checked in the order of
 *   docs/plugin-abi -> texts copied -> struct descriptor, all of it ours.
 *
 * After descriptor_read() nothing reads the module's memory again; its handlers
 * and init are called by the runner from the copied pointers. Bytes of the
 * module's structs beyond what this host knows are ignored.
 *
 * Used by the runner and by tests; libc and lib/base only.
 */
#ifndef PGFLOW_RUNNER_DESCRIPTOR_H
#define PGFLOW_RUNNER_DESCRIPTOR_H

#include "base/error.h"

#include <pgflow/module.h>

struct descriptor_step {
    const char *slug;
    uint32_t kind;  /* PGF_STEP_SINGLE or PGF_STEP_MAP */
    uint32_t flags; /* PGF_WANTS_FLOW_INPUT or 0 */
    uint32_t n_deps;
    const uint32_t *deps;        /* indexes of earlier steps, in the module's order */
    const char *queue;           /* the canonical route in every mode: lower case */
    pgf_options options;         /* struct_size is our own; is_set 0: inherit */
    const char *required_input;  /* JSON object, or NULL */
    const char *forbidden_input; /* JSON object, or NULL */
    const char *when_unmet;      /* never NULL: the default is filled in */
    const char *when_exhausted;  /* never NULL */
    const char *contract;        /* or NULL */
    pgf_handler run;
};

struct descriptor {
    uint32_t abi_minor, needs_minor;
    uint32_t flags; /* PGF_MAY_GROW or 0 */
    const char *flow_slug;
    const char *alias;   /* never NULL: the flow slug by default */
    const char *version; /* or NULL */
    uint32_t queue_mode; /* PGF_QUEUE_... */
    pgf_options options; /* as in a step; start_delay_s is never set */
    uint32_t n_steps;
    const struct descriptor_step *steps;
    int32_t (*init)(const pgf_host *, void **state); /* or NULL */
    void (*fini)(void *state);                       /* or NULL */
    const void *(*extension)(const char *id);        /* or NULL */
};

/* Reads and checks what `symbol` points to, the address of pgflow_module_v1.
 * `file` begins the error text; NULL: it begins with the field. The error
 * (ERROR_CONFIG) names the field, what was found, what is expected and the fix;
 * the first violation in the documented order is reported, no other. The result
 * is the caller's; texts in it live until descriptor_free(). */
struct descriptor *descriptor_read(const void *symbol, const char *file,
                                   struct error *error) MUST_CHECK;

/* Takes NULL. */
void descriptor_free(struct descriptor *descriptor);

/* The words for kinds and modes in JSON and messages: "single", "flow". */
const char *descriptor_kind_name(uint32_t kind);
const char *descriptor_queue_mode_name(uint32_t mode);

#endif
