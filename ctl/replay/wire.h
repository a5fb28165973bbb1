/*
 * What pgflowctl replay and its box say to each other, over a stream socket that the box got at its
 * fork: a fixed struct, then the texts. Both ends are one program.
 */
#ifndef PGFLOW_CTL_REPLAY_WIRE_H
#define PGFLOW_CTL_REPLAY_WIRE_H

#include "base/limits.h"

#include <stdint.h>

enum { BOX_MODULES = 2 };

struct box_task {
    uint64_t id; /* the sender's */
    uint64_t input_size, flow_input_size;
    uint32_t module, step, attempt, timeout_s;
    int32_t max_attempts, task_index;
    uint32_t has_flow_input;
    char run_id[LIMIT_UUID_TEXT + 1];
};

enum box_kind {
    BOX_MODULE, /* text: a module's descriptor; one each, in the order in which they were given */
    BOX_RESULT, /* text: output or error */
    BOX_FAILED, /* text: why the box gives up; it ends next */
};

struct box_answer {
    uint64_t id;
    uint64_t us;      /* in the handler */
    uint64_t rss_kib; /* the most that its process had; 0: unknown */
    uint64_t size;    /* of the text */
    uint32_t kind;
    uint32_t completed, died;
    uint32_t code; /* BOX_FAILED: enum error_code */
};

#endif
