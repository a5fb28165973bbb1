/* SPDX-License-Identifier: Apache-2.0
 * The test kit; see pgflow/testkit.h. A runner and a host in one, without processes: the module is
 * read by the runner's code and results are judged by the supervisor's. */
#include <pgflow/testkit.h>

#include "base/buf.h"
#include "base/json_check.h"
#include "pool/result.h"
#include "runner/module.h"
#include "wire/frame.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_BYTES = LIMIT_MIB, DEFAULT_OUTPUT = LIMIT_PAYLOAD_DEFAULT_MIB * LIMIT_MIB };

static const char run_id[] = "00000000-0000-4000-8000-000000000001";

/* Scratch memory: a block of its own for each, so that a memory checker sees its ends. */
struct scratch {
    struct scratch *next;
    max_align_t bytes[];
};

struct pgf_test {
    pgf_host host;
    const pgf_module *module;
    struct descriptor *descriptor;
    void *state;
    bool is_ready; /* init gave 0 */
    char problem[LIMIT_ERROR_TEXT];

    /* Of the last call. */
    struct buf output, error, log;
    struct result_text reason;
    struct pool_result result;
    bool over_limit;
    int64_t retry_after_s;
    uint32_t questions;
    struct scratch *scratch;

    /* For the next ones. */
    struct buf flow_input;
    uint32_t attempt;
    int32_t max_attempts, task_index;
    uint32_t cancel_at;
    size_t max_output;
};

/* ---- What a handler may call ---- */

static void take_log(const pgf_host *host, int32_t level, const char *text, size_t len)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    struct pgf_test *test = host->ctx;

    buf_puts(&test->log, names[level < PGF_LOG_DEBUG || level > PGF_LOG_ERROR ? 3 : level]);
    buf_puts(&test->log, ": ");
    buf_put(&test->log, text, len);
    buf_putc(&test->log, '\n');
}

static const void *no_extension(const pgf_host *host, const char *id)
{
    (void)host;
    (void)id;
    return NULL;
}

static int32_t take_output(const pgf_call *call, const char *json, size_t len)
{
    struct pgf_test *test = call->ctx;

    if (test->over_limit || len > test->max_output - test->output.size)
        test->over_limit = true;
    else
        buf_put(&test->output, json, len);
    return test->over_limit ? 1 : 0;
}

static void take_error(const pgf_call *call, const char *text, size_t len)
{
    struct pgf_test *test = call->ctx;

    buf_clear(&test->error);
    buf_put(&test->error, text, len < LIMIT_ERROR_TEXT ? len : LIMIT_ERROR_TEXT - 1);
}

static void take_retry_after(const pgf_call *call, uint32_t seconds)
{
    struct pgf_test *test = call->ctx;

    test->retry_after_s = seconds;
}

static void *give_scratch(const pgf_call *call, size_t size)
{
    struct pgf_test *test = call->ctx;
    struct scratch *block =
        size > SIZE_MAX - sizeof *block ? NULL : malloc(sizeof *block + (size > 0 ? size : 1));

    if (block == NULL)
        return NULL;
    block->next = test->scratch;
    test->scratch = block;
    return block->bytes;
}

static int32_t is_cancelled(const pgf_call *call)
{
    struct pgf_test *test = call->ctx;
    uint32_t asked = __atomic_add_fetch(&test->questions, 1, __ATOMIC_RELAXED);

    return test->cancel_at > 0 && asked >= test->cancel_at;
}

static void drop_scratch(struct pgf_test *test)
{
    while (test->scratch != NULL) {
        struct scratch *next = test->scratch->next;
        free(test->scratch);
        test->scratch = next;
    }
}

/* ---- Opening and closing ---- */

/* "flow.so" means "./flow.so": nothing is searched. */
static bool load(struct pgf_test *test, const char *path)
{
    struct runner_options options = {0};
    struct error error = {0};
    char here[PATH_MAX];
    void *library;

    if (path == NULL) {
        snprintf(test->problem, sizeof test->problem, "pgf_test_open: the path is NULL");
        return false;
    }
    snprintf(here, sizeof here, "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    options.module = here;
    test->descriptor = module_load(&options, &error);
    if (test->descriptor == NULL) {
        snprintf(test->problem, sizeof test->problem, "%.1000s: %.3000s", path, error.text);
        return false;
    }
    library = dlopen(here, RTLD_NOW | RTLD_LOCAL);
    test->module = library == NULL ? NULL : dlsym(library, "pgflow_module_v1");
    return true;
}

/* The last line of the log, without its level and newline. */
static const char *last_line(const struct pgf_test *test, size_t *size)
{
    const char *text = test->log.data;
    size_t end = test->log.size > 0 ? test->log.size - 1 : 0;
    size_t begin = end;

    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    text += begin;
    *size = end - begin;
    for (size_t i = 0; i + 1 < *size; i++)
        if (text[i] == ':') {
            *size -= i + 2;
            return text + i + 2;
        }
    return text;
}

static void start(struct pgf_test *test, const char *path)
{
    size_t size = 0;
    const char *said;
    int32_t answer =
        test->descriptor->init == NULL ? 0 : test->descriptor->init(&test->host, &test->state);

    test->is_ready = answer == 0;
    if (test->is_ready)
        return;
    said = last_line(test, &size);
    snprintf(test->problem, sizeof test->problem, "%.1000s: init returned %d%s%.*s", path, answer,
             size > 0 ? ": " : " and logged no reason", (int)size, said);
}

pgf_test *pgf_test_open(const char *path)
{
    struct pgf_test *test = calloc(1, sizeof *test);

    if (test == NULL)
        return NULL;
    test->host = (pgf_host){.struct_size = sizeof test->host,
                            .abi_minor = PGF_ABI_MINOR,
                            .ctx = test,
                            .log = take_log,
                            .extension = no_extension};
    test->attempt = 1;
    test->max_attempts = 3;
    test->max_output = DEFAULT_OUTPUT;
    buf_init(&test->output, LIMIT_DB_STATEMENT_BYTES);
    buf_init(&test->error, LIMIT_ERROR_TEXT);
    buf_init(&test->log, LOG_BYTES);
    buf_init(&test->flow_input, LIMIT_DB_STATEMENT_BYTES);
    if (load(test, path))
        start(test, path);
    return test;
}

const char *pgf_test_problem(const pgf_test *test)
{
    if (test == NULL)
        return "out of memory";
    return test->is_ready ? NULL : test->problem;
}

void pgf_test_close(pgf_test *test)
{
    if (test == NULL)
        return;
    if (test->is_ready && test->descriptor->fini != NULL)
        test->descriptor->fini(test->state);
    drop_scratch(test);
    descriptor_free(test->descriptor);
    buf_free(&test->output);
    buf_free(&test->error);
    buf_free(&test->log);
    buf_free(&test->flow_input);
    free(test);
}

const pgf_module *pgf_test_module(const pgf_test *test)
{
    return test == NULL ? NULL : test->module;
}

/* ---- Calls ---- */

static const struct descriptor_step *find_step(const struct pgf_test *test, const char *slug)
{
    for (uint32_t i = 0; i < test->descriptor->n_steps; i++)
        if (strcmp(test->descriptor->steps[i].slug, slug) == 0)
            return &test->descriptor->steps[i];
    return NULL;
}

/* What must not happen in a test that is right. */
static int32_t mistake(struct pgf_test *test, const char *text, const char *detail)
{
    int length = snprintf(test->reason.data, sizeof test->reason.data, "%s%s", text, detail);

    test->result = (struct pool_result){.outcome = POOL_FAILED,
                                        .error = length > 0 ? test->reason.data : text,
                                        .retry_after_s = -1};
    return PGF_TEST_MISTAKE;
}

static void begin(struct pgf_test *test)
{
    drop_scratch(test);
    buf_clear(&test->output);
    buf_clear(&test->error);
    buf_clear(&test->log);
    test->over_limit = false;
    test->retry_after_s = -1;
    test->questions = 0;
}

static pgf_str text_of(const char *text)
{
    return (pgf_str){.ptr = text, .len = strlen(text)};
}

static int32_t run(struct pgf_test *test, const struct descriptor_step *step, pgf_str input)
{
    bool is_root = step->n_deps == 0 && step->kind == PGF_STEP_SINGLE;
    pgf_call call = {.struct_size = sizeof call,
                     .attempt = test->attempt,
                     .ctx = test,
                     .host = &test->host,
                     .flow_slug = text_of(test->descriptor->flow_slug),
                     .step_slug = text_of(step->slug),
                     .run_id = text_of(run_id),
                     .msg_id = 1,
                     .task_index = test->task_index,
                     .max_attempts = test->max_attempts,
                     .input = is_root ? text_of("{}") : input,
                     .write = take_output,
                     .set_error = take_error,
                     .retry_after = take_retry_after,
                     .alloc = give_scratch,
                     .is_cancelled = is_cancelled};

    if (is_root)
        call.flow_input = input;
    else if ((step->flags & PGF_WANTS_FLOW_INPUT) != 0)
        call.flow_input = text_of(test->flow_input.size > 0 ? test->flow_input.data : "{}");
    return step->run(test->state, &call);
}

/* As the host does with the answer of a runner. */
static int32_t judge(struct pgf_test *test, int32_t status)
{
    static const int32_t results[] = {[POOL_COMPLETED] = PGF_OK,
                                      [POOL_FAILED] = PGF_ERROR,
                                      [POOL_PERMANENT] = PGF_PERMANENT,
                                      [POOL_CANCELLED] = PGF_CANCELLED};
    struct result_question question = {
        .status = status,
        .flags = (test->over_limit ? FRAME_RESULT_OVER_LIMIT : 0u) |
                 (buf_ok(&test->output) ? 0u : FRAME_RESULT_NO_MEMORY),
        .output = test->output.data,
        .output_size = test->output.size,
        .error = test->error.data,
        .error_size = test->error.size,
        .retry_after_s = test->retry_after_s,
        .cancel_why = test->cancel_at > 0 && test->questions >= test->cancel_at ? POOL_SHUTDOWN : 0,
        .max_payload = test->max_output};

    test->result = (struct pool_result){.started = true};
    result_of_answer(&question, &test->result, &test->reason);
    return results[test->result.outcome];
}

int32_t pgf_test_call(pgf_test *test, const char *step, const char *input)
{
    const struct descriptor_step *found;
    struct error error = {0};

    if (pgf_test_problem(test) != NULL)
        return PGF_TEST_MISTAKE;
    begin(test);
    if (step == NULL || input == NULL)
        return mistake(test, step == NULL ? "the step" : "the input", " is NULL");
    found = find_step(test, step);
    if (found == NULL)
        return mistake(test, "the module has no step ", step);
    if (!json_check_text(input, strlen(input), &error))
        return mistake(test, "the input is ", error.text);
    return judge(test, run(test, found, text_of(input)));
}

const char *pgf_test_output(const pgf_test *test)
{
    return test->result.output == NULL ? "" : test->result.output;
}

const char *pgf_test_error(const pgf_test *test)
{
    if (pgf_test_problem(test) != NULL)
        return pgf_test_problem(test);
    return test->result.error == NULL ? "" : test->result.error;
}

int32_t pgf_test_retry_after(const pgf_test *test)
{
    return test->result.retry_after_s;
}

const char *pgf_test_log(const pgf_test *test)
{
    return test->log.data;
}

/* ---- For the next calls ---- */

void pgf_test_set_flow_input(pgf_test *test, const char *json)
{
    buf_clear(&test->flow_input);
    if (json != NULL)
        buf_puts(&test->flow_input, json);
}

void pgf_test_set_attempt(pgf_test *test, uint32_t attempt, int32_t max_attempts)
{
    test->attempt = attempt;
    test->max_attempts = max_attempts;
}

void pgf_test_set_task_index(pgf_test *test, int32_t index)
{
    test->task_index = index;
}

void pgf_test_cancel_at(pgf_test *test, uint32_t question)
{
    test->cancel_at = question;
}

void pgf_test_set_max_output(pgf_test *test, size_t bytes)
{
    test->max_output = bytes > 0 ? bytes : DEFAULT_OUTPUT;
}
