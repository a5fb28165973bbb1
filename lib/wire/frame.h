/*
 * The frames between the host and a runner, on a socketpair of theirs: a header
 * of 16 bytes, then a body whose fixed part is one of the structs below and
 * whose rest is text. Both ends are built together and run on one machine, so
 * integers travel in memory order; the version is checked all the same.
 *
 * Data flow of one task: the host sends TASK (head, input, flow input, straight
 * from the claim's row); the runner answers STARTED just before it calls the
 * handler, any number of LOG, and RESULT (head, output, error text). Several
 * TASK frames may wait in the socket; they are answered in order, so only the
 * oldest unanswered one is in flight. A TASK that the host recalled (see
 * wire/cancel_page.h) is answered NOT_RUN. One CRASH note may come last.
 * Nothing of the other end is believed: sizes, types and versions are checked
 * here, task numbers by the caller; a frame that breaks the rules ends the
 * runner.
 *
 * No libuv, no pool of buffers: libc and lib/base only.
 */
#ifndef PGFLOW_WIRE_FRAME_H
#define PGFLOW_WIRE_FRAME_H

#include "base/error.h"
#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define FRAME_VERSION 1

enum frame_type {
    /* host to runner */
    FRAME_TASK = 1, /* struct frame_task, input, flow input */
    FRAME_STOP = 2, /* no body: call fini and exit with status 0 */
    /* runner to host */
    FRAME_READY = 16,   /* struct frame_ready: init is done */
    FRAME_FAILED = 17,  /* text: why this runner cannot start; it exits next */
    FRAME_STARTED = 18, /* no body: the handler of task `number` is about to run */
    FRAME_RESULT = 19,  /* struct frame_result, output, error text, a NUL behind each */
    FRAME_NOT_RUN = 20, /* no body: task `number` did not run: it had been recalled, or the runner
                           runs no further one */
    FRAME_LOG = 21,     /* struct frame_log, text; number 0: outside of a task */
    FRAME_CRASH = 22,   /* struct frame_crash: the runner dies of this signal next */
};

struct frame_header {
    uint16_t version; /* FRAME_VERSION */
    uint16_t type;    /* enum frame_type */
    uint32_t size;    /* bytes of the body */
    uint64_t number;  /* of the task, counted by the host from 1 in each runner; else 0 */
};

struct frame_task {
    uint32_t step; /* index in the module's descriptor */
    uint32_t attempt;
    int32_t max_attempts;
    int32_t task_index;
    int64_t msg_id;
    uint64_t timeout_ms; /* from the start of the handler; 0: none */
    uint32_t input_size;
    uint32_t flow_input_size;
    char run_id[LIMIT_UUID_TEXT + 4]; /* NUL-terminated */
};

/* frame_result.flags */
#define FRAME_RESULT_STDOUT 1u     /* a marker follows the task's output on stdout */
#define FRAME_RESULT_STDERR 2u     /* the same on stderr */
#define FRAME_RESULT_OVER_LIMIT 4u /* the handler wrote more than one payload */
#define FRAME_RESULT_NO_MEMORY 8u  /* its output could not be kept: malloc failed */
/* The rest is what the task left in the runner (wire/residue.h), which answers further ones with
 * NOT_RUN if there is any. */
#define FRAME_RESULT_RESIDUE_SHIFT 16

struct frame_result {
    int32_t status; /* what the handler returned: PGF_OK, ..., or anything else */
    uint32_t flags;
    int64_t retry_after_s;  /* -1: not asked for */
    uint64_t elapsed_us;    /* in the handler */
    uint64_t address_space; /* bytes in use after it; 0: not measured this time */
    uint32_t output_size;   /* 0: nothing was written. Without the NUL, as is error_size */
    uint32_t error_size;
};

struct frame_ready {
    uint32_t abi_minor; /* of this runner */
    uint32_t step_count;
    uint64_t address_space; /* bytes in use after init */
};

struct frame_log {
    int32_t level; /* PGF_LOG_DEBUG to PGF_LOG_ERROR */
    uint32_t reserved;
};

struct frame_crash {
    int32_t signal;
    uint32_t reserved;
    uint64_t address_space; /* bytes in use when the signal came; 0: unknown */
};

/*
 * A marker in the runner's stdout or stderr: "what was before this belongs to
 * task `number`". Written before its RESULT unless the task certainly printed
 * nothing there (cancel_page.h), so a quiet one costs no system call in the
 * host. 12 bytes are below PIPE_BUF: never cut, never mixed with other writers'
 * bytes.
 */
struct frame_marker {
    char magic[4]; /* FRAME_MARKER_MAGIC: begins with NUL, which text has not */
    uint32_t number_low;
    uint32_t number_high;
};
#define FRAME_MARKER_MAGIC "\0PGF"

/* A received frame. The body is borrowed from the reader until its next call. */
struct frame {
    enum frame_type type;
    uint64_t number;
    const char *body;
    size_t size;
};

/*
 * Bytes in, frames out. One recv(2) takes as many frames as fit; a frame larger
 * than the buffer is read straight into memory of its size, which is freed
 * with the frame, so an idle end never keeps a payload's worth of memory.
 */
struct frame_reader {
    char *data;
    size_t begin, end, capacity;
    size_t max_body;
};

/* The largest body when one payload may have `max_payload` bytes. */
size_t frame_max_body(size_t max_payload);

/* No allocation; `max_body` in bytes. */
void frame_reader_init(struct frame_reader *reader, size_t max_body);
/* Takes a zeroed struct. */
void frame_reader_finish(struct frame_reader *reader);

/* One recv(2). Bytes read; 0 at the end of the stream; negative errno (-EAGAIN
 * when nothing is there, -ENOMEM). Ends every borrowed body. */
long frame_reader_fill(struct frame_reader *reader, int fd) MUST_CHECK;

/* Puts bytes in as if received (tests, fuzzers). False without memory. */
bool frame_reader_feed(struct frame_reader *reader, const void *data, size_t size) MUST_CHECK;

enum frame_next {
    FRAME_NEXT_NONE, /* no complete frame is here: fill */
    FRAME_NEXT_OK,
    FRAME_NEXT_BROKEN, /* wrong version, unknown type, over the limit, or a body that its fixed
                          part contradicts; `error` says which. Final. */
};

/* The next complete frame. Its body's fixed part was checked: it is there, and
 * the sizes in it add up to exactly the body. */
enum frame_next frame_reader_next(struct frame_reader *reader, struct frame *frame,
                                  struct error *error) MUST_CHECK;

/* Is a frame of that type and number among the bytes not yet taken from the
 * reader and `more`, which follow them in the stream? Takes nothing. */
bool frame_reader_has(const struct frame_reader *reader, const char *more, size_t more_size,
                      enum frame_type type, uint64_t number);

/* The fixed parts (the body may be unaligned), and the texts behind them,
 * borrowed as the body is. The frame must be of that type. */
struct frame_task frame_get_task(const struct frame *frame, const char **input,
                                 const char **flow_input);
struct frame_result frame_get_result(const struct frame *frame, const char **output,
                                     const char **error_text);
struct frame_ready frame_get_ready(const struct frame *frame);
struct frame_crash frame_get_crash(const struct frame *frame);
/* The text of a LOG or FAILED frame; `level` may be NULL. */
const char *frame_get_text(const struct frame *frame, int32_t *level, size_t *size);

/* Fills a header. */
struct frame_header frame_header_make(enum frame_type type, uint64_t number, size_t size);

/* Sends all of `iov` with as few calls as the kernel allows, and waits for room
 * on the way, also where a handler made the socket non-blocking; changes `iov`. 0 or negative errno
 * (-EPIPE: the other end is gone). No signal. */
int frame_send(int fd, struct iovec *iov, size_t count) MUST_CHECK;

#endif
