/*
 * Run mode: the loop of one runner. Answers are collected and sent with one
 * sendmsg(2): the RESULT of a task goes out together with the STARTED of the
 * next one when that was received already.
 *
 * Any failure of the socket ends the process: the host sees it, blames the task
 * in flight and starts another runner.
 */
#include "runner/serve.h"

#include "base/clock.h"
#include "base/fd_wait.h"
#include "runner/address_space.h"
#include "runner/call.h"
#include "runner/crash_note.h"
#include "runner/module.h"
#include "runner/output_marker.h"
#include "runner/residue.h"
#include "runner/sandbox.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The size is read after each of so many calls, and after every long one: a
 * pread costs as much as a short handler. */
enum { MEASURE_EVERY = 16, MEASURE_AFTER_US = 1000 };

enum { EXIT_SOCKET = 70, LAST_LOG = 1024 };

struct server {
    const struct runner_options *options;
    struct descriptor *descriptor;
    const struct cancel_page *page;
    struct frame_reader reader;
    pgf_host host;
    pid_t pid;        /* ours; a child that a handler forked has another */
    void *state;      /* the module's, from init */
    uint64_t running; /* number of the task in its handler; 0: none */
    uint64_t calls;
    uint32_t residue; /* what the last task left; then no further one runs here */
    struct call call;
    char last_log[LAST_LOG]; /* the reason when init fails */
};

/* What waits to be sent with the next system call. The parts are borrowed. */
struct outgoing {
    struct frame_header result_header, started_header;
    struct frame_result result;
    struct iovec iov[5];
    size_t count;
};

static void put_part(struct outgoing *out, const void *data, size_t size)
{
    out->iov[out->count++] = (struct iovec){.iov_base = (void *)(uintptr_t)data, .iov_len = size};
}

static void send_parts(struct iovec *iov, size_t count)
{
    crash_note_block();
    if (frame_send(RUNNER_FD_SOCKET, iov, count) != 0)
        _exit(EXIT_SOCKET);
    crash_note_unblock();
}

static void flush_outgoing(struct outgoing *out)
{
    if (out->count > 0)
        send_parts(out->iov, out->count);
    out->count = 0;
}

static void send_frame(enum frame_type type, uint64_t number, const void *fixed, size_t fixed_size,
                       const char *text, size_t text_size)
{
    struct frame_header header = frame_header_make(type, number, fixed_size + text_size);
    struct iovec iov[3] = {{&header, sizeof header},
                           {(void *)(uintptr_t)fixed, fixed_size},
                           {(void *)(uintptr_t)text, text_size}};

    send_parts(iov, 3);
}

static void host_log(const pgf_host *host, int32_t level, const char *text, size_t len)
{
    struct server *server = host->ctx;
    struct frame_log log = {.level = level};
    size_t kept = len < LAST_LOG ? len : LAST_LOG - 1;

    /* A child shares the socket: its frame could get into the middle of one of ours. */
    if (getpid() != server->pid)
        return;
    if (level < PGF_LOG_DEBUG || level > PGF_LOG_ERROR)
        log.level = level < PGF_LOG_DEBUG ? PGF_LOG_DEBUG : PGF_LOG_ERROR;
    if (kept > 0)
        memcpy(server->last_log, text, kept);
    server->last_log[kept] = '\0';
    send_frame(FRAME_LOG, server->running, &log, sizeof log, text,
               len < LIMIT_LOG_LINE ? len : LIMIT_LOG_LINE);
}

/* No extension exists yet. */
static const void *host_extension(const pgf_host *host, const char *id)
{
    (void)host;
    (void)id;
    return NULL;
}

static bool map_page(struct server *server, struct error *error)
{
    void *page = mmap(NULL, CANCEL_PAGE_SIZE, PROT_READ, MAP_SHARED, RUNNER_FD_PAGE, 0);

    if (page == MAP_FAILED)
        return error_set(error, ERROR_INTERNAL, "cannot map the cancel page: %s", strerror(errno));
    (void)close(RUNNER_FD_PAGE);
    server->page = page;
    return true;
}

static bool start_module(struct server *server, struct error *error)
{
    int32_t status;

    server->descriptor = module_load(server->options, error);
    if (server->descriptor == NULL)
        return false;
    server->host = (pgf_host){.struct_size = sizeof server->host,
                              .abi_minor = PGF_ABI_MINOR,
                              .ctx = server,
                              .log = host_log,
                              .extension = host_extension};
    if (server->descriptor->init == NULL)
        return true;
    status = server->descriptor->init(&server->host, &server->state);
    if (getpid() != server->pid)
        _exit(EXIT_SOCKET); /* a child of init that came back as well */
    if (status == 0)
        return true;
    if (server->last_log[0] == '\0')
        return error_set(error, ERROR_CONFIG, "init returned %d and logged no reason", status);
    return error_set(error, ERROR_CONFIG, "init returned %d: %s", status, server->last_log);
}

static void put_started(struct outgoing *out, uint64_t number)
{
    out->started_header = frame_header_make(FRAME_STARTED, number, 0);
    put_part(out, &out->started_header, sizeof out->started_header);
}

static void put_result(struct server *server, struct outgoing *out, uint64_t number)
{
    struct call *call = &server->call;
    struct frame_result *result = &out->result;
    bool keeps_output = result->status == PGF_OK && !call->over_limit && buf_ok(&call->output);

    result->flags = output_marker_end(number) | server->residue << FRAME_RESULT_RESIDUE_SHIFT;
    if (call->over_limit)
        result->flags |= FRAME_RESULT_OVER_LIMIT;
    else if (!buf_ok(&call->output))
        result->flags |= FRAME_RESULT_NO_MEMORY;
    result->retry_after_s = call->retry_after_s;
    if (server->calls++ % MEASURE_EVERY == 0 || result->elapsed_us > MEASURE_AFTER_US)
        result->address_space = address_space_size();
    result->output_size = keeps_output ? (uint32_t)call->output.size : 0;
    result->error_size = (uint32_t)call->error_size;
    out->result_header = frame_header_make(
        FRAME_RESULT, number, sizeof *result + result->output_size + 1 + result->error_size + 1);
    put_part(out, &out->result_header, sizeof out->result_header);
    put_part(out, result, sizeof *result);
    /* With the NUL that stands behind each. */
    put_part(out, keeps_output ? call->output.data : "", (size_t)result->output_size + 1);
    put_part(out, call->error, (size_t)result->error_size + 1);
}

/* STARTED was sent. Was the task recalled before the host could see that? */
static bool is_recalled(const struct server *server, uint64_t number)
{
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&server->page->recalled[number % CANCEL_PAGE_SLOTS],
                                memory_order_seq_cst) == number;
}

/* Runs the handler; its RESULT is put on `out`, not sent. */
static void run_task(struct server *server, const struct frame *frame, struct outgoing *out)
{
    const struct descriptor_step *step;
    const char *input, *flow_input;
    struct frame_task task = frame_get_task(frame, &input, &flow_input);
    uint64_t begin;

    if (task.step >= server->descriptor->n_steps)
        _exit(EXIT_SOCKET);
    step = &server->descriptor->steps[task.step];
    call_begin(&server->call, frame->number, &task, input, flow_input);
    server->call.abi.step_slug = (pgf_str){.ptr = step->slug, .len = strlen(step->slug)};
    server->running = frame->number;
    output_marker_begin();
    residue_begin();
    begin = clock_steady_ns();
    out->result = (struct frame_result){.status = step->run(server->state, &server->call.abi)};
    out->result.elapsed_us = (clock_steady_ns() - begin) / NS_PER_US;
    /* A child that came back out of the handler as well: its parent answers. */
    if (getpid() != server->pid)
        _exit(EXIT_SOCKET);
    server->residue = residue_clear(out->result.elapsed_us);
    server->running = 0;
    put_result(server, out, frame->number);
}

/* A handler may have made the socket non-blocking. */
static void receive(struct server *server)
{
    long got;

    while ((got = frame_reader_fill(&server->reader, RUNNER_FD_SOCKET)) == -EAGAIN)
        fd_wait(RUNNER_FD_SOCKET, POLLIN);
    if (got <= 0)
        _exit(EXIT_SOCKET);
}

/* The next frame. With `wait`, receives until one is there. False: none yet. */
static bool next_frame(struct server *server, bool wait, struct frame *frame)
{
    for (;;) {
        switch (frame_reader_next(&server->reader, frame, NULL)) {
        case FRAME_NEXT_OK:
            return true;
        case FRAME_NEXT_BROKEN:
            _exit(EXIT_SOCKET);
        case FRAME_NEXT_NONE:
            break;
        }
        if (!wait)
            return false;
        receive(server);
    }
}

static void take_task(struct server *server, const struct frame *frame, struct outgoing *out)
{
    put_started(out, frame->number);
    flush_outgoing(out);
    call_end(&server->call);
    if (is_recalled(server, frame->number))
        send_frame(FRAME_NOT_RUN, frame->number, NULL, 0, NULL, 0);
    else
        run_task(server, frame, out);
}

/* In a process that is not as the first task found it. The host knows by the answer before. */
static void skip_task(struct server *server, uint64_t number, struct outgoing *out)
{
    flush_outgoing(out);
    call_end(&server->call);
    send_frame(FRAME_NOT_RUN, number, NULL, 0, NULL, 0);
}

/* Until STOP. A frame's texts live in the reader, so nothing is received
 * between the arrival of a task and its answer. */
static void serve_tasks(struct server *server)
{
    struct outgoing out = {.count = 0};
    struct frame frame;

    next_frame(server, true, &frame);
    while (frame.type == FRAME_TASK) {
        if (server->residue != 0)
            skip_task(server, frame.number, &out);
        else
            take_task(server, &frame, &out);
        if (next_frame(server, false, &frame))
            continue;
        flush_outgoing(&out);
        call_end(&server->call);
        next_frame(server, true, &frame);
    }
    flush_outgoing(&out);
    if (frame.type != FRAME_STOP)
        _exit(EXIT_SOCKET);
}

static bool start_server(struct server *server, struct error *error)
{
    struct frame_ready ready = {.abi_minor = PGF_ABI_MINOR};

    if (!map_page(server, error) || !output_marker_init(server->page, error))
        return false;
    address_space_open();
    if (!crash_note_install(RUNNER_FD_SOCKET, error) || !start_module(server, error))
        return false;
    frame_reader_init(&server->reader, frame_max_body(server->options->max_payload));
    call_init(&server->call, server->page, &server->host, server->options->max_payload);
    server->call.abi.flow_slug = (pgf_str){.ptr = server->descriptor->flow_slug,
                                           .len = strlen(server->descriptor->flow_slug)};
    residue_open((server->descriptor->flags & PGF_MAY_GROW) != 0);
    ready.step_count = server->descriptor->n_steps;
    ready.address_space = address_space_size();
    output_flush();
    send_frame(FRAME_READY, 0, &ready, sizeof ready, NULL, 0);
    return true;
}

int serve_module(const struct runner_options *options)
{
    static struct server server;
    struct error error = {0};

    server.options = options;
    server.pid = getpid();
    if (!sandbox_enter(options, runner_first_fd(options), &error) ||
        !start_server(&server, &error)) {
        output_flush();
        send_frame(FRAME_FAILED, 0, NULL, 0, error.text, strlen(error.text));
        return error.code;
    }
    serve_tasks(&server);
    if (server.descriptor->fini != NULL)
        server.descriptor->fini(server.state);
    output_flush();
    call_finish(&server.call);
    frame_reader_finish(&server.reader);
    descriptor_free(server.descriptor);
    return 0;
}
