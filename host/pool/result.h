/*
 * What the end of a handler means: pure functions from what was seen (an answer,
 * or a death) to the result that the worker gets. Every text in it can be
 * stored: cleaned, checked, and within LIMIT_ERROR_TEXT.
 */
#ifndef PGFLOW_POOL_RESULT_H
#define PGFLOW_POOL_RESULT_H

#include "pool/pool.h"

/* Where the error text of a result lives. */
struct result_text {
    char data[LIMIT_ERROR_TEXT];
};

/* A RESULT, and what the host knows about its task. Texts are borrowed. */
struct result_question {
    int32_t status;
    uint32_t flags; /* FRAME_RESULT_... */
    const char *output;
    size_t output_size;
    const char *error;
    size_t error_size;
    int64_t retry_after_s;
    bool timed_out;
    uint32_t timeout_s;
    int cancel_why; /* enum pool_cancel_why or 0 */
    size_t max_payload;
};

/* Fills outcome, why, output, error and retry_after_s. The output is borrowed
 * from the question, the error text from `text`. */
void result_of_answer(const struct result_question *question, struct pool_result *result,
                      struct result_text *text);

/* How a runner ended while its task ran. */
struct result_death {
    enum pool_exit_cause cause;
    int64_t exit_status;
    int exit_signal;
    uint64_t address_space; /* of the crash note; 0: there was none */
    size_t handler_memory;  /* the limit; 0: none */
    bool out_of_memory;     /* SIGKILL, and the kernel's OOM killer was at work meanwhile */
    uint32_t timeout_s;
    const char *protocol; /* how it was broken */
};

/* "handler died: SIGSEGV (at its memory limit of 512 MiB)" and so on, in one
 * line. Returns the length. */
size_t result_death_reason(const struct result_death *death, char *out, size_t size);

/* POOL_FAILED with the reason, and behind it what fits of the end of stderr. */
void result_of_death(const struct result_death *death, const char *stderr_tail,
                     size_t stderr_tail_size, struct pool_result *result, struct result_text *text);

#endif
