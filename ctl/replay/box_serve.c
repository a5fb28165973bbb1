/*
 * Within the box: tasks from the socket to a pool of runners, and its results back.
 */
#include "ctl/module_descriptor.h"
#include "ctl/replay/box.h"

#include "base/proc_text.h"
#include "module/module_file.h"
#include "pool/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

static const uint32_t suspend_for_good[] = {0};

struct serving {
    const struct box_config *config;
    struct error *error; /* filled when `failed` */
    uv_loop_t loop;
    uv_pipe_t pipe;
    struct buf in;
    struct module_store *store;
    struct module_file *files[BOX_MODULES];
    struct pool *pool;
    struct pool_module *modules[BOX_MODULES];
    char *room; /* for a read */
    size_t ready;
    bool failed, finished, closed;
};

/* A task as it came, its texts behind it. */
struct held {
    struct pool_task task;
    struct box_task given;
    char texts[];
};

struct sending {
    uv_write_t request;
    struct box_answer answer;
    char text[];
};

enum { ROOM = 256 * 1024 };

static void on_sent(uv_write_t *request, int status)
{
    (void)status;
    free(request->data);
}

static void send_answer(struct serving *serving, const struct box_answer *answer, const char *text)
{
    struct sending *sending = malloc(sizeof *sending + answer->size);
    if (sending == NULL) {
        serving->failed = !error_out_of_memory(serving->error);
        serving->finished = true;
        return;
    }
    sending->answer = *answer;
    if (answer->size > 0)
        memcpy(sending->text, text, answer->size);
    sending->request.data = sending;
    uv_buf_t parts[2] = {uv_buf_init((char *)&sending->answer, sizeof sending->answer),
                         uv_buf_init(sending->text, (unsigned)answer->size)};
    if (uv_write(&sending->request, (uv_stream_t *)&serving->pipe, parts, 2, on_sent) != 0) {
        free(sending);
        serving->finished = true;
    }
}

/* ---- Tasks ---- */

static void fail(struct serving *serving, const char *text)
{
    if (!serving->failed && !serving->finished)
        (void)error_set(serving->error, ERROR_CONFIG, "%s", text);
    serving->failed = true;
    serving->finished = true;
}

/* The most pages that the runner ever had in memory. */
static uint64_t peak_kib(pid_t pid)
{
    char path[64], status[4096];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    size_t size = fread(status, 1, sizeof status - 1, file);
    (void)fclose(file);
    status[size] = '\0';
    const char *line = strstr(status, "\nVmHWM:");
    return line != NULL ? strtoull(line + strlen("\nVmHWM:"), NULL, 10) : 0;
}

static void on_started(void *context, struct pool_task *task)
{
    (void)context;
    (void)task;
}

static void on_done(void *context, struct pool_task *task, const struct pool_result *result)
{
    struct serving *serving = context;
    struct held *held = task->data;
    struct box_answer answer = {.id = held->given.id,
                                .kind = BOX_RESULT,
                                .us = result->us,
                                .completed = result->outcome == POOL_COMPLETED,
                                .died = result->died};
    const char *text = result->outcome == POOL_COMPLETED ? result->output : result->error;
    if (text != NULL)
        answer.size = result->outcome == POOL_COMPLETED ? result->output_size : result->error_size;
    if (serving->config->measures && !result->died && result->pid > 0)
        answer.rss_kib = peak_kib(result->pid);
    if (!serving->finished && result->outcome == POOL_RETURNED)
        fail(serving, "the module can no longer be started, so the rest did not run");
    if (!serving->finished)
        send_answer(serving, &answer, text);
    free(held);
}

static bool submit(struct serving *serving, const struct box_task *given, const char *texts)
{
    size_t size = given->input_size + given->flow_input_size;
    struct held *held = calloc(1, sizeof *held + size + 2);
    if (held == NULL)
        return false;
    char *flow_input = held->texts + given->input_size + 1;
    held->given = *given;
    memcpy(held->texts, texts, given->input_size);
    memcpy(flow_input, texts + given->input_size, given->flow_input_size);
    held->task = (struct pool_task){.module = serving->modules[given->module],
                                    .step = given->step,
                                    .attempt = given->attempt,
                                    .max_attempts = given->max_attempts,
                                    .task_index = given->task_index,
                                    .msg_id = 1,
                                    .timeout_s = given->timeout_s,
                                    .input = held->texts,
                                    .input_size = given->input_size,
                                    .flow_input = given->has_flow_input ? flow_input : NULL,
                                    .flow_input_size = given->flow_input_size,
                                    .data = held};
    memcpy(held->task.run_id, given->run_id, sizeof held->task.run_id);
    pool_submit(serving->pool, &held->task);
    return true;
}

static void take_tasks(struct serving *serving)
{
    size_t at = 0;
    struct box_task given;
    while (!serving->finished && serving->in.size - at >= sizeof given) {
        memcpy(&given, serving->in.data + at, sizeof given);
        size_t size = given.input_size + given.flow_input_size;
        if (serving->in.size - at - sizeof given < size)
            break;
        if (!submit(serving, &given, serving->in.data + at + sizeof given))
            fail(serving, "out of memory");
        at += sizeof given + size;
    }
    buf_consume(&serving->in, at);
}

static void give_room(uv_handle_t *handle, size_t wanted, uv_buf_t *room)
{
    struct serving *serving = handle->data;
    (void)wanted;
    *room = uv_buf_init(serving->room, ROOM);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *room)
{
    struct serving *serving = stream->data;
    if (size < 0) {
        serving->finished = true; /* the parent has enough, or is gone */
        return;
    }
    buf_put(&serving->in, room->base, (size_t)size);
    if (!buf_ok(&serving->in))
        fail(serving, "out of memory");
    else
        take_tasks(serving);
}

/* ---- Modules ---- */

static void on_module_state(void *context, struct pool_module *module, enum pool_module_state state,
                            const char *reason)
{
    struct serving *serving = context;
    char text[LIMIT_ERROR_TEXT];
    if (state == POOL_MODULE_SUSPENDED) {
        (void)snprintf(text, sizeof text, "%s cannot be started: %s", pool_module_flow(module),
                       reason);
        fail(serving, text);
        return;
    }
    if (serving->ready == serving->config->count || ++serving->ready < serving->config->count)
        return;
    for (size_t i = 0; i < serving->config->count; i++) {
        size_t size = 0;
        const char *descriptor = module_file_descriptor(serving->files[i], &size);
        struct box_answer answer = {.kind = BOX_MODULE, .id = i, .size = strlen(descriptor)};
        send_answer(serving, &answer, descriptor);
    }
}

static bool open_modules(struct serving *serving, int program, struct error *error)
{
    struct module_store_config store = {.handler_uid = (uid_t)-1,
                                        .handler_gid = (gid_t)-1,
                                        .allow_writable = true, /* the author's own file */
                                        .without_copies = true,
                                        .runner_program = program};
    serving->store = module_store_open(&store, error);
    for (size_t i = 0; serving->store != NULL && i < serving->config->count; i++) {
        const char *path = serving->config->modules[i];
        serving->files[i] = module_file_open(serving->store, path, error);
        if (serving->files[i] == NULL ||
            !module_descriptor_check(path, module_file_descriptor(serving->files[i], NULL), error))
            return false;
    }
    return serving->store != NULL;
}

static void on_closed(void *context)
{
    ((struct serving *)context)->closed = true;
}

static bool open_pool(struct serving *serving, int program, struct error *error)
{
    struct pool_config config = {.loop = &serving->loop,
                                 .runner_program = program,
                                 .concurrency = serving->config->concurrency,
                                 .max_payload = (size_t)LIMIT_PAYLOAD_MAX_MIB * LIMIT_MIB,
                                 .handler_memory = serving->config->memory_mib * LIMIT_MIB,
                                 .handler_uid = (uid_t)-1,
                                 .handler_gid = (gid_t)-1,
                                 .callbacks = {.on_started = on_started,
                                               .on_done = on_done,
                                               .on_module_state = on_module_state},
                                 .context = serving,
                                 .hold_schedule_ms = suspend_for_good};
    serving->pool = pool_create(&config, error);
    for (size_t i = 0; serving->pool != NULL && i < serving->config->count; i++) {
        serving->modules[i] =
            pool_add_module(serving->pool, serving->files[i], i == 0 ? "NEW" : "OLD", NULL, error);
        if (serving->modules[i] == NULL)
            return false;
        pool_warm(serving->modules[i]);
    }
    return serving->pool != NULL;
}

bool box_serve(int fd, const struct box_config *config, int runner_program, struct error *error)
{
    struct serving serving = {.config = config, .error = error, .room = malloc(ROOM)};
    buf_init(&serving.in, (size_t)4 << 30);
    if (serving.room == NULL || uv_loop_init(&serving.loop) != 0)
        return error_out_of_memory(error);
    serving.pipe.data = &serving;
    if (uv_pipe_init(&serving.loop, &serving.pipe, 0) != 0 || uv_pipe_open(&serving.pipe, fd) != 0)
        return error_set(error, ERROR_INTERNAL, "no event loop");
    if (!open_modules(&serving, runner_program, error) ||
        !open_pool(&serving, runner_program, error))
        return false;
    serving.pipe.data = &serving;
    if (uv_read_start((uv_stream_t *)&serving.pipe, give_room, on_read) != 0)
        return error_set(error, ERROR_INTERNAL, "no event loop");
    while (!serving.finished)
        (void)uv_run(&serving.loop, UV_RUN_ONCE);
    /* The rest is not waited for; as the first process of the box this one takes all along. */
    bool failed = serving.failed;
    pool_kill_all(serving.pool);
    pool_close(serving.pool, on_closed);
    while (!serving.closed)
        (void)uv_run(&serving.loop, UV_RUN_ONCE);
    free(serving.room);
    buf_free(&serving.in);
    return !failed;
}
