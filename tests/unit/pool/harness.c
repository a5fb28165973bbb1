/*
 * See harness.h.
 */
#include "harness.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <pgflow/module.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WATCHDOG_MS = 60000 };

static int fds_before;

int harness_count_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(folder) != NULL)
        count++;
    (void)closedir(folder);
    return count;
}

/* A timer may call us at the beginning of UV_RUN_ONCE, which would then go on to
 * wait for another event. */
static void wake(void *context)
{
    struct harness *h = context;

    uv_stop(&h->loop);
}

static void on_started(void *context, struct pool_task *task)
{
    struct record *record = task->data;

    wake(context);
    record->started++;
    record->started_ns = uv_hrtime();
}

static void on_done(void *context, struct pool_task *task, const struct pool_result *result)
{
    struct record *record = task->data;

    wake(context);
    record->done++;
    record->done_ns = uv_hrtime();
    record->outcome = result->outcome;
    record->why = result->why;
    record->was_started = result->started;
    record->died = result->died;
    record->output = result->output == NULL ? NULL : strdup(result->output);
    record->error = result->error == NULL ? NULL : strdup(result->error);
    record->retry_after_s = result->retry_after_s;
    record->pid = result->pid;
    if (record->then != NULL)
        record->then(record);
}

static void on_module_state(void *context, struct pool_module *module, enum pool_module_state state,
                            const char *reason)
{
    struct harness *h = context;

    (void)module;
    wake(context);
    if (state == POOL_MODULE_READY) {
        h->ready_count++;
        return;
    }
    h->suspended_count++;
    snprintf(h->suspend_reason, sizeof h->suspend_reason, "%s", reason);
}

static void on_line(void *context, const struct pool_line *line)
{
    struct harness *h = context;

    if (h->line_count == HARNESS_LINES)
        return;
    h->lines[h->line_count++] = (struct harness_line){.task = line->task,
                                                      .stream = line->stream,
                                                      .level = line->level,
                                                      .pid = line->pid,
                                                      .text = strdup(line->text)};
}

static void on_event(void *context, const struct pool_event *event)
{
    struct harness *h = context;

    h->event_levels[h->event_count % HARNESS_EVENTS] = event->level;
    if (h->event_count < HARNESS_EVENTS &&
        asprintf(&h->events[h->event_count], "%s: %s", event->name, event->text) > 0)
        h->event_count++;
}

static void on_watchdog(uv_timer_t *timer)
{
    (void)timer;
    cr_assert(false, "nothing happened for %d s", WATCHDOG_MS / 1000);
}

void harness_init(struct harness *h)
{
    struct error error;

    memset(h, 0, sizeof *h);
    /* libuv opens its signal pipe with the first loop and keeps it. */
    uv_loop_init(&h->loop);
    (void)uv_loop_close(&h->loop);
    fds_before = harness_count_fds();
    uv_loop_init(&h->loop);
    (void)uv_timer_init(&h->loop, &h->watchdog);
    (void)uv_timer_start(&h->watchdog, on_watchdog, WATCHDOG_MS, WATCHDOG_MS);
    strcpy(h->folder, "/tmp/pgflow-test-XXXXXX");
    cr_assert_not_null(mkdtemp(h->folder));
    h->runner_program = runner_program_open(TEST_RUNNER, &error);
    cr_assert(h->runner_program >= 0, "%s", error.text);
    h->config = (struct pool_config){.loop = &h->loop,
                                     .runner_program = h->runner_program,
                                     .concurrency = 2,
                                     .max_payload = 16 * LIMIT_MIB,
                                     .handler_memory = (size_t)512 * LIMIT_MIB,
                                     .handler_uid = (uid_t)-1,
                                     .handler_gid = (gid_t)-1,
                                     .callbacks = {.on_started = on_started,
                                                   .on_done = on_done,
                                                   .on_module_state = on_module_state,
                                                   .on_line = on_line,
                                                   .on_event = on_event},
                                     .context = h};
}

void harness_start(struct harness *h)
{
    struct module_store_config store = {.folder = h->folder,
                                        .runner_program = h->runner_program,
                                        .handler_uid = h->config.handler_uid,
                                        .handler_gid = h->config.handler_gid,
                                        .pass_env = h->config.pass_env};
    struct error error;

    h->store = module_store_open(&store, &error);
    cr_assert_not_null(h->store, "%s", error.text);
    h->pool = pool_create(&h->config, &error);
    cr_assert_not_null(h->pool, "%s", error.text);
}

struct pool_module *harness_add(struct harness *h, const char *name)
{
    char path[512];
    struct error error;
    int place = h->module_count++;

    snprintf(path, sizeof path, "%s/%s.so", TEST_PLUGINS, name);
    h->files[place] = module_file_open(h->store, path, &error);
    cr_assert_not_null(h->files[place], "%s", error.text);
    h->modules[place] = pool_add_module(h->pool, h->files[place], name, h, &error);
    cr_assert_not_null(h->modules[place], "%s", error.text);
    return h->modules[place];
}

/* Criterion forgives a failed assertion after the test's end, but no crash. */
static void require(bool is_true, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "harness: %s\n", what);
    abort();
}

/* What a runner forked is killed with it, and may be dying yet when the pool is closed: a pool
 * does not wait for that. One that lives on holds the test up until its timeout. */
static void reap_the_dying(void)
{
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    require(errno == ECHILD, "waiting for the last children failed");
}

static void on_closed(void *context)
{
    struct harness *h = context;

    h->closed = true;
}

void harness_finish(struct harness *h)
{
    char command[128];

    pool_close(h->pool, on_closed);
    while (!h->closed)
        (void)uv_run(&h->loop, UV_RUN_ONCE);
    if (h->after_close != NULL)
        h->after_close();
    uv_close((uv_handle_t *)&h->watchdog, NULL);
    (void)uv_run(&h->loop, UV_RUN_DEFAULT);
    require(uv_loop_close(&h->loop) == 0, "a handle was left open");
    for (int i = 0; i < h->module_count; i++)
        module_file_close(h->files[i]);
    module_store_close(h->store);
    (void)close(h->runner_program);
    for (int i = 0; i < h->line_count; i++)
        free(h->lines[i].text);
    for (int i = 0; i < h->event_count; i++)
        free(h->events[i]);
    snprintf(command, sizeof command, "rm -rf '%s'", h->folder);
    require(system(command) == 0, command);
    reap_the_dying();
    require(harness_count_fds() == fds_before, "descriptors were leaked");
}

uint32_t harness_step(struct harness *h, struct pool_module *module, const char *slug)
{
    const cJSON *step;
    uint32_t index = 0;
    bool found = false;
    cJSON *root = NULL;

    for (int i = 0; i < h->module_count; i++)
        if (h->modules[i] == module)
            root = cJSON_Parse(module_file_descriptor(h->files[i], NULL));
    cr_assert_not_null(root);
    cJSON_ArrayForEach(step, cJSON_GetObjectItem(root, "steps"))
    {
        found = strcmp(cJSON_GetObjectItem(step, "slug")->valuestring, slug) == 0;
        if (found)
            break;
        index++;
    }
    cJSON_Delete(root);
    cr_assert(found, "no step %s", slug);
    return index;
}

void harness_submit(struct harness *h, struct record *record, struct pool_module *module,
                    const char *slug, const char *params)
{
    void (*then)(struct record *) = record->then;
    void *data = record->data;
    uint32_t timeout = record->task.timeout_s;

    memset(record, 0, sizeof *record);
    record->then = then;
    record->data = data;
    record->params = strdup(params);
    record->task = (struct pool_task){.module = module,
                                      .step = harness_step(h, module, slug),
                                      .attempt = 1,
                                      .max_attempts = 2,
                                      .msg_id = 7,
                                      .timeout_s = timeout == 0 ? 60 : timeout,
                                      .run_id = "01234567-89ab-4def-8123-456789abcdef",
                                      .input = "{}",
                                      .input_size = 2,
                                      .flow_input = record->params,
                                      .flow_input_size = strlen(params),
                                      .data = record};
    pool_submit(h->pool, &record->task);
}

void harness_wait(struct harness *h, const int *flag, int wanted)
{
    uv_timer_again(&h->watchdog);
    while (*flag < wanted)
        (void)uv_run(&h->loop, UV_RUN_ONCE);
}

void harness_wait_for(struct harness *h, bool (*is_true)(struct harness *h, void *data), void *data)
{
    while (!is_true(h, data))
        (void)uv_run(&h->loop, UV_RUN_ONCE);
}

void harness_run(struct harness *h, struct record *record, struct pool_module *module,
                 const char *slug, const char *params)
{
    harness_submit(h, record, module, slug, params);
    harness_wait(h, &record->done, 1);
}

void record_free(struct record *record)
{
    free(record->params);
    free(record->output);
    free(record->error);
}

int harness_count_lines(const struct harness *h, const struct record *record,
                        enum pool_stream stream, const char *text)
{
    int count = 0;

    for (int i = 0; i < h->line_count; i++)
        count += h->lines[i].stream == stream && strcmp(h->lines[i].text, text) == 0 &&
                 (record == NULL || h->lines[i].task == &record->task);
    return count;
}

static int count_events(const struct harness *h, const char *beginning, int least)
{
    int count = 0;

    for (int i = 0; i < h->event_count; i++)
        count +=
            h->event_levels[i] >= least && strncmp(h->events[i], beginning, strlen(beginning)) == 0;
    return count;
}

bool harness_has_event(const struct harness *h, const char *beginning)
{
    return count_events(h, beginning, PGF_LOG_DEBUG) > 0;
}

int harness_count_events(const struct harness *h, const char *beginning)
{
    return count_events(h, beginning, PGF_LOG_DEBUG);
}

int harness_count_warnings(const struct harness *h, const char *beginning)
{
    return count_events(h, beginning, PGF_LOG_WARN);
}
