/*
 * A pool on a loop of its own for the calls of one command; see exec_session.h.
 */
#include "ctl/author/exec_session.h"

#include "ctl/module_descriptor.h"

#include "base/text.h"
#include "module/module_file.h"

#include <cjson/cJSON.h>
#include <pgflow/module.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

/* Valgrind takes its time to start, and at the end to look for leaks. */
enum { SLOW_READY_MS = 120000, SLOW_GRACE_MS = 120000 };

static const uint32_t hold_for_good[] = {0};

/* What ends a command: its runner has to go first, and then what its caller cleans up. */
static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof ending_signals / sizeof ending_signals[0] };

struct session {
    const struct exec_request *request;
    struct exec_report *report;
    struct error *error; /* filled when `failed` */
    uv_loop_t loop;
    struct pool *pool;
    struct pool_module *module;
    struct pool_task task;
    uv_signal_t signals[SIGNALS];
    bool failed, finished, closed;
};

/* ---- The module ---- */

bool exec_module_open(struct exec_module *module, const char *path, const char *const *pass_env,
                      struct error *error)
{
    struct module_store_config config = {.handler_uid = (uid_t)-1,
                                         .handler_gid = (gid_t)-1,
                                         .allow_writable = true, /* the author's own file */
                                         .without_copies = true,
                                         .pass_env = pass_env};

    *module = (struct exec_module){.runner_program = runner_program_open(NULL, error)};
    if (module->runner_program < 0)
        return false;
    config.runner_program = module->runner_program;
    module->store = module_store_open(&config, error);
    if (module->store != NULL)
        module->file = module_file_open(module->store, path, error);
    if (module->file != NULL) {
        const char *descriptor = module_file_descriptor(module->file, NULL);
        bool good = module_descriptor_check(path, descriptor, error);
        module->descriptor = good ? cJSON_Parse(descriptor) : NULL;
        module->flow =
            cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(module->descriptor, "flowSlug"));
        if (module->flow != NULL)
            return true;
        if (good)
            (void)error_out_of_memory(error);
    }
    exec_module_close(module);
    return false;
}

void exec_module_close(struct exec_module *module)
{
    cJSON_Delete(module->descriptor);
    module_file_close(module->file);
    module_store_close(module->store);
    if (module->runner_program >= 0)
        (void)close(module->runner_program);
    *module = (struct exec_module){.runner_program = -1};
}

/* ---- Memory ---- */

static uint64_t status_number(const char *status, const char *name)
{
    const char *line = strstr(status, name);
    return line != NULL ? strtoull(line + strlen(name), NULL, 10) : 0;
}

/* Of a process that may be gone: 0 then. */
static uint64_t resident_kib(pid_t pid, uint64_t *peak)
{
    char path[64];
    char status[4096];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    size_t size = fread(status, 1, sizeof status - 1, file);
    (void)fclose(file);
    status[size] = '\0';
    uint64_t now_peak = status_number(status, "\nVmHWM:");
    if (now_peak > *peak)
        *peak = now_peak;
    return status_number(status, "\nVmRSS:");
}

/* ---- The calls ---- */

static void on_closed(void *context)
{
    ((struct session *)context)->closed = true;
}

/* Not closed in a callback: the runner whose task is being handed over counts as
 * busy, and would be killed before its fini and before valgrind looks for leaks. */
static void finish(struct session *session)
{
    session->finished = true;
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct session *session = handle->data;
    session->report->interrupted_by = number;
    finish(session);
}

static void watch_signals(struct session *session)
{
    for (size_t i = 0; i < SIGNALS; i++) {
        (void)uv_signal_init(&session->loop, &session->signals[i]);
        session->signals[i].data = session;
        (void)uv_signal_start(&session->signals[i], on_signal, ending_signals[i]);
    }
}

static void close_signals(struct session *session)
{
    for (size_t i = 0; i < SIGNALS; i++)
        uv_close((uv_handle_t *)&session->signals[i], NULL);
    (void)uv_run(&session->loop, UV_RUN_DEFAULT);
}

static void follow(struct session *session)
{
    while (!session->finished)
        (void)uv_run(&session->loop, UV_RUN_ONCE);
    pool_close(session->pool, on_closed);
    while (!session->closed)
        (void)uv_run(&session->loop, UV_RUN_ONCE);
}

static void submit(struct session *session)
{
    const struct exec_request *request = session->request;
    char run_id[LIMIT_UUID_TEXT + 1] = "00000000-0000-4000-8000-000000000000";
    (void)text_make_uuid(run_id);
    session->task = (struct pool_task){.module = session->module,
                                       .step = request->step,
                                       .attempt = request->attempt,
                                       .max_attempts = request->max_attempts,
                                       .msg_id = 1,
                                       .timeout_s = request->timeout_s,
                                       .input = request->input,
                                       .input_size = request->input_size,
                                       .flow_input = request->flow_input,
                                       .flow_input_size = request->flow_input_size};
    memcpy(session->task.run_id, run_id, sizeof run_id);
    pool_submit(session->pool, &session->task);
}

static void on_started(void *context, struct pool_task *task)
{
    (void)context;
    (void)task;
}

static void keep_end(struct exec_report *report, const struct pool_result *result)
{
    report->outcome = result->outcome;
    report->retry_after_s = result->retry_after_s;
    report->died = result->died;
    buf_clear(&report->output);
    buf_clear(&report->error);
    if (result->output != NULL)
        buf_put(&report->output, result->output, result->output_size);
    if (result->error != NULL)
        buf_put(&report->error, result->error, result->error_size);
}

static void on_done(void *context, struct pool_task *task, const struct pool_result *result)
{
    struct session *session = context;
    struct exec_report *report = session->report;
    (void)task;
    if (result->outcome == POOL_RETURNED) {
        finish(session); /* the module is suspended: on_module_state says why */
        return;
    }
    keep_end(report, result);
    report->us[report->calls++] = result->us;
    if (!result->died)
        report->memory.last = resident_kib(result->pid, &report->memory.peak);
    if (report->calls == 1)
        report->memory.first = report->memory.last;
    if (result->outcome == POOL_COMPLETED && report->calls < session->request->calls)
        submit(session);
    else
        finish(session);
}

static void on_module_state(void *context, struct pool_module *module, enum pool_module_state state,
                            const char *reason)
{
    struct session *session = context;
    (void)module;
    if (session->finished || session->report->calls > 0)
        return;
    if (state == POOL_MODULE_READY) {
        submit(session);
        return;
    }
    session->failed = true;
    (void)error_set(session->error, ERROR_CONFIG, "the module cannot be started: %s", reason);
    finish(session);
}

static void on_line(void *context, const struct pool_line *line)
{
    struct session *session = context;
    session->request->on_line(session->request->context, line);
}

/* Once, though each of many calls may say it. */
static void put_note(struct buf *notes, const char *text)
{
    if (notes->size > 0 && strstr(notes->data, text) != NULL)
        return;
    buf_puts(notes, notes->size > 0 ? "; " : "");
    buf_puts(notes, text);
}

static void on_event(void *context, const struct pool_event *event)
{
    struct session *session = context;
    struct exec_memory *memory = &session->report->memory;
    if (strcmp(event->name, "runner_ready") == 0)
        memory->ready = resident_kib(event->pid, &memory->peak);
    if (strcmp(event->name, "output_dropped") == 0)
        put_note(&session->report->dropped, event->text);
    /* Each kind is reported once; with it a hint that the calls are not all of one process. */
    if (strcmp(event->name, "runner_recycled") == 0 && event->level == PGF_LOG_WARN)
        put_note(&session->report->left, event->text);
}

static bool start(struct session *session, const struct exec_module *module, struct error *error)
{
    const struct exec_request *request = session->request;
    struct pool_config config = {.loop = &session->loop,
                                 .runner_program = module->runner_program,
                                 .concurrency = 1,
                                 .max_payload = (size_t)LIMIT_PAYLOAD_DEFAULT_MIB * LIMIT_MIB,
                                 .handler_memory =
                                     request->under != NULL ? 0 : request->memory_mib * LIMIT_MIB,
                                 .handler_uid = (uid_t)-1,
                                 .handler_gid = (gid_t)-1,
                                 .pass_env = request->pass_env,
                                 .under = request->under,
                                 .callbacks = {.on_started = on_started,
                                               .on_done = on_done,
                                               .on_module_state = on_module_state,
                                               .on_line = on_line,
                                               .on_event = on_event},
                                 .context = session,
                                 .ready_timeout_ms = request->under != NULL ? SLOW_READY_MS : 0,
                                 .grace_ms = request->under != NULL ? SLOW_GRACE_MS : 0,
                                 .hold_schedule_ms = hold_for_good};
    session->pool = pool_create(&config, error);
    if (session->pool == NULL)
        return false;
    session->module = pool_add_module(session->pool, module->file, module->flow, NULL, error);
    if (session->module != NULL)
        pool_warm(session->module);
    else
        finish(session);
    return session->module != NULL;
}

bool exec_run(const struct exec_module *module, const struct exec_request *request,
              struct exec_report *report, struct error *error)
{
    struct session session = {.request = request, .report = report, .error = error};
    *report =
        (struct exec_report){.retry_after_s = -1, .us = calloc(request->calls, sizeof *report->us)};
    buf_init(&report->output, (size_t)LIMIT_PAYLOAD_DEFAULT_MIB * LIMIT_MIB);
    buf_init(&report->error, LIMIT_ERROR_TEXT);
    buf_init(&report->left, LIMIT_ERROR_TEXT);
    buf_init(&report->dropped, LIMIT_ERROR_TEXT);
    if (report->us == NULL)
        return error_out_of_memory(error);
    if (uv_loop_init(&session.loop) != 0)
        return error_set(error, ERROR_INTERNAL, "no event loop");
    watch_signals(&session);
    bool started = start(&session, module, error);
    if (session.pool != NULL)
        follow(&session);
    close_signals(&session);
    (void)uv_loop_close(&session.loop);
    if (report->interrupted_by != 0)
        return error_set(error, ERROR_INTERNAL, "interrupted");
    if (!started || session.failed)
        return false;
    if (report->calls == 0)
        return error_set(error, ERROR_INTERNAL, "the handler was never called");
    return (buf_ok(&report->output) && buf_ok(&report->error)) || error_out_of_memory(error);
}

void exec_report_free(struct exec_report *report)
{
    free(report->us);
    buf_free(&report->output);
    buf_free(&report->error);
    buf_free(&report->left);
    buf_free(&report->dropped);
}
