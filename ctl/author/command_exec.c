/*
 * pgflowctl exec FILE.so: runs one handler in a real runner without a database,
 * for the author of a module. The result goes to stdout, what the handler said
 * and how long it took to stderr.
 */
#include "ctl/author/exec_session.h"
#include "ctl/author/valgrind.h"
#include "ctl/command.h"
#include "ctl/handler_memory.h"
#include "ctl/json_option.h"
#include "ctl/plain.h"

#include "base/text.h"
#include "base/unseen.h"

#include <pgflow/module.h>

#include <cjson/cJSON.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CALLS = 1000000, PASSED_NAMES = 64, DEFAULT_TIMEOUT_S = 60, DEFAULT_ATTEMPTS = 3 };

/* One `pgflowctl exec`, taken apart. */
struct exec {
    struct invocation *invocation;
    struct exec_module module;
    struct exec_request request;
    struct exec_report report;
    const cJSON *step;
    struct buf input, flow_input;
    struct buf log; /* with --json: the elements of the array */
    struct valgrind valgrind;
    struct buf findings;
    bool uses_valgrind;
    char *names; /* a copy of --pass-env, cut at its commas */
    const char *passed[PASSED_NAMES + 1];
};

/* ---- What was asked ---- */

static const char *text_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text != NULL ? text : "";
}

static bool find_step(struct exec *exec, struct error *error)
{
    const cJSON *steps = cJSON_GetObjectItemCaseSensitive(exec->module.descriptor, "steps");
    const char *asked = invocation_value(exec->invocation, "step");
    const char *names[LIMIT_STEPS];
    size_t count = 0;
    const cJSON *step = NULL;
    cJSON_ArrayForEach(step, steps)
    {
        if (asked != NULL ? strcmp(text_of(step, "slug"), asked) == 0
                          : cJSON_GetArraySize(steps) == 1) {
            exec->step = step;
            exec->request.step = (uint32_t)count;
            return true;
        }
        names[count++] = text_of(step, "slug");
    }
    if (asked == NULL)
        return error_set(error, ERROR_USAGE, "--step is missing: %s has %zu of them",
                         exec->module.flow, count);
    const char *near = text_nearest(asked, names, count);
    return error_set(error, ERROR_USAGE, "%s has no step '%s'%s%s%s", exec->module.flow,
                     text_shown(asked), near != NULL ? "; did you mean '" : "",
                     near != NULL ? near : "",
                     near != NULL ? "'?" : "; pgflowctl inspect shows them");
}

static bool has_dependency(const cJSON *step, const char *name)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(step, "dependencies"))
    {
        if (item->valuestring != NULL && strcmp(item->valuestring, name) == 0)
            return true;
    }
    return false;
}

/* The input of a single step with dependencies: an object of their outputs. */
static bool check_dependencies(const struct exec *exec, struct error *error)
{
    cJSON *input = cJSON_ParseWithLength(exec->input.data, exec->input.size);
    const cJSON *item = NULL;
    bool ok = cJSON_IsObject(input);
    if (!ok)
        (void)error_set(error, ERROR_USAGE,
                        "--input: the step gets an object of what its dependencies gave");
    cJSON_ArrayForEach(item, input)
    {
        if (ok && !has_dependency(exec->step, item->string))
            ok = error_set(error, ERROR_USAGE, "--input: '%s' is no dependency of %s",
                           text_shown(item->string), text_of(exec->step, "slug"));
    }
    cJSON_Delete(input);
    return ok;
}

static bool is_root(const cJSON *step)
{
    return cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(step, "dependencies")) == 0;
}

static bool is_map(const cJSON *step)
{
    return strcmp(text_of(step, "stepType"), "map") == 0;
}

/* --input is what the step would see: the run's input for a single step without
 * dependencies, which gets it as flow_input. */
static bool read_inputs(struct exec *exec, struct error *error)
{
    const struct invocation *invocation = exec->invocation;
    bool root = is_root(exec->step) && !is_map(exec->step);
    bool wants = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(exec->step, "wantsFlowInput"));
    if (is_map(exec->step) && invocation_value(invocation, "input") == NULL)
        return error_set(error, ERROR_USAGE, "--input is missing: the element that %s gets",
                         text_of(exec->step, "slug"));
    if (root && invocation_value(invocation, "flow-input") != NULL)
        return error_set(error, ERROR_USAGE,
                         "--flow-input: %s has no dependencies, so give the run's input as --input",
                         text_of(exec->step, "slug"));
    if (!root && !wants && invocation_value(invocation, "flow-input") != NULL)
        return error_set(error, ERROR_USAGE,
                         "--flow-input: %s does not ask for it (PGF_WANTS_FLOW_INPUT)",
                         text_of(exec->step, "slug"));
    if (!json_option_read(invocation, "input", "{}", root ? &exec->flow_input : &exec->input,
                          error))
        return false;
    if (root)
        buf_puts(&exec->input, "{}");
    else if (wants && !json_option_read(invocation, "flow-input", "{}", &exec->flow_input, error))
        return false;
    if (!root && !is_map(exec->step) && !check_dependencies(exec, error))
        return false;
    exec->request.input = exec->input.data;
    exec->request.input_size = exec->input.size;
    exec->request.flow_input = root || wants ? exec->flow_input.data : NULL;
    exec->request.flow_input_size = exec->flow_input.size;
    return true;
}

/* The step's option, else its flow's, else the default. */
static int option_of(const struct exec *exec, const char *name, int otherwise)
{
    const cJSON *holders[] = {exec->step, exec->module.descriptor};
    for (size_t i = 0; i < 2; i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(
            cJSON_GetObjectItemCaseSensitive(holders[i], "options"), name);
        if (cJSON_IsNumber(value))
            return value->valueint;
    }
    return otherwise;
}

static bool read_under(struct exec *exec, struct error *error)
{
    const char *under = invocation_value(exec->invocation, "under");
    if (under == NULL)
        return true;
    if (strcmp(under, "valgrind") != 0)
        return error_set(error, ERROR_USAGE, "--under '%s': valgrind is the one that can be given",
                         text_shown(under));
    exec->uses_valgrind = true;
    exec->request.under = exec->valgrind.arguments;
    exec->request.timeout_s = 0;
    return valgrind_init(&exec->valgrind, error);
}

static bool read_pass_env(struct exec *exec, struct error *error)
{
    const char *given = invocation_value(exec->invocation, "pass-env");
    char *rest = NULL;
    size_t count = 0;
    if (given == NULL)
        return true;
    exec->names = strdup(given);
    if (exec->names == NULL)
        return error_out_of_memory(error);
    for (char *name = strtok_r(exec->names, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        if (count == PASSED_NAMES)
            return error_set(error, ERROR_USAGE, "--pass-env: more than %d names", PASSED_NAMES);
        exec->passed[count++] = name;
    }
    exec->request.pass_env = exec->passed;
    return true;
}

static bool read_request(struct exec *exec, struct error *error)
{
    int calls = 1;
    int attempt = 1;
    if (!find_step(exec, error) ||
        !invocation_number(exec->invocation, "repeat", 1, MOST_CALLS, 1, &calls, error) ||
        !invocation_number(exec->invocation, "attempt", 1, 1000, 1, &attempt, error) ||
        !read_inputs(exec, error) ||
        !handler_memory_mib(exec->invocation, &exec->request.memory_mib, error))
        return false;
    exec->request.calls = (uint32_t)calls;
    exec->request.attempt = (uint32_t)attempt;
    exec->request.max_attempts = option_of(exec, "maxAttempts", DEFAULT_ATTEMPTS);
    exec->request.timeout_s = (uint32_t)option_of(exec, "timeout", DEFAULT_TIMEOUT_S);
    return read_under(exec, error);
}

/* ---- What came of it ---- */

static const char *line_kind(const struct pool_line *line)
{
    static const char *const levels[] = {"debug", "info", "warn", "error"};
    if (line->stream == POOL_STDOUT)
        return "stdout";
    if (line->stream == POOL_STDERR)
        return "stderr";
    return line->level >= PGF_LOG_DEBUG && line->level <= PGF_LOG_ERROR ? levels[line->level]
                                                                        : "log";
}

static void take_line(void *context, const struct pool_line *line)
{
    struct exec *exec = context;
    if (!exec->invocation->json) {
        fprintf(stderr, "%-6s | ", line_kind(line));
        plain_print(stderr, line->text);
        (void)fputc('\n', stderr);
        return;
    }
    buf_printf(&exec->log, "%s{\"kind\":\"%s\",\"text\":", exec->log.size > 0 ? "," : "",
               line_kind(line));
    buf_put_json_string(&exec->log, line->text, line->size);
    buf_putc(&exec->log, '}');
}

static const char *outcome_name(const struct exec_report *report)
{
    switch (report->outcome) {
    case POOL_COMPLETED:
        return "completed";
    case POOL_PERMANENT:
        return "failed for good";
    case POOL_CANCELLED:
        return "cancelled";
    default:
        return report->died ? "died" : "failed";
    }
}

static int by_size(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a;
    uint64_t second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

struct times {
    double first, least, median, most; /* milliseconds */
};

static struct times times_of(struct exec_report *report)
{
    struct times times = {.first = (double)report->us[0] / 1000};
    size_t middle = report->calls / 2;
    qsort(report->us, report->calls, sizeof *report->us, by_size);
    times.least = (double)report->us[0] / 1000;
    times.median = (double)report->us[middle] / 1000;
    times.most = (double)report->us[report->calls - 1] / 1000;
    return times;
}

static void print_text(struct exec *exec)
{
    struct exec_report *report = &exec->report;
    const struct exec_memory *memory = &report->memory;
    struct times times = times_of(report);
    if (report->outcome == POOL_COMPLETED) {
        plain_print_json(stdout, report->output.data);
        printf("\n");
    }
    (void)fflush(stdout);
    fprintf(stderr, "%s %s: ", text_of(exec->step, "slug"), outcome_name(report));
    if (report->calls == 1)
        fprintf(stderr, "%.3f ms", times.first);
    else
        fprintf(stderr, "%u calls, the first %.3f ms; %.3f ms at least, %.3f median, %.3f at most",
                report->calls, times.first, times.least, times.median, times.most);
    if (memory->last > 0 && !exec->uses_valgrind)
        fprintf(stderr,
                "; memory %.1f MiB, %.1f before the first call, %.1f after it, %.1f at most",
                (double)memory->last / 1024, (double)memory->ready / 1024,
                (double)memory->first / 1024, (double)memory->peak / 1024);
    (void)fputc('\n', stderr);
    if (report->outcome != POOL_COMPLETED) {
        plain_print(stderr, report->error.data);
        (void)fputc('\n', stderr);
    }
    if (report->dropped.size > 0) {
        plain_print(stderr, report->dropped.data);
        (void)fputs(", as a host does\n", stderr);
    }
    if (report->left.size > 0) {
        plain_print(stderr, report->left.data);
        (void)fputs(": a host would run the next task in another process\n", stderr);
    }
    if (report->retry_after_s >= 0)
        fprintf(stderr, "asks to be tried again after %d s\n", report->retry_after_s);
    if (exec->uses_valgrind)
        plain_print(stderr,
                    exec->findings.size > 0 ? exec->findings.data : "valgrind found nothing\n");
}

static void put_member(struct buf *out, const char *name, const struct buf *text)
{
    buf_printf(out, ",\"%s\":", name);
    if (text->size > 0)
        buf_put_json_string(out, text->data, text->size);
    else
        buf_puts(out, "null");
}

static bool print_json(struct exec *exec, struct error *error)
{
    struct exec_report *report = &exec->report;
    const struct exec_memory *memory = &report->memory;
    struct times times = times_of(report);
    struct buf out;
    buf_init(&out, (size_t)LIMIT_PAYLOAD_MAX_MIB * LIMIT_MIB);
    buf_printf(&out,
               "{\"flow\":\"%s\",\"step\":\"%s\",\"outcome\":\"%s\",\"output\":", exec->module.flow,
               text_of(exec->step, "slug"), outcome_name(report));
    if (report->outcome == POOL_COMPLETED)
        unseen_put_json(&out, report->output.data, report->output.size);
    else
        buf_puts(&out, "null");
    put_member(&out, "error", &report->error);
    put_member(&out, "left", &report->left);
    put_member(&out, "dropped", &report->dropped);
    if (report->retry_after_s >= 0)
        buf_printf(&out, ",\"retryAfterSeconds\":%d", report->retry_after_s);
    buf_printf(&out,
               ",\"calls\":%u,\"ms\":{\"first\":%.3f,\"least\":%.3f,\"median\":%.3f,\"most\":%.3f}",
               report->calls, times.first, times.least, times.median, times.most);
    if (!exec->uses_valgrind)
        buf_printf(&out,
                   ",\"memoryKiB\":{\"ready\":%llu,\"first\":%llu,\"last\":%llu,\"most\":%llu}",
                   (unsigned long long)memory->ready, (unsigned long long)memory->first,
                   (unsigned long long)memory->last, (unsigned long long)memory->peak);
    if (exec->uses_valgrind)
        put_member(&out, "valgrind", &exec->findings);
    buf_printf(&out, ",\"log\":[%s]}\n", exec->log.data);
    bool ok = (buf_ok(&out) && buf_ok(&exec->log)) || error_out_of_memory(error);
    if (ok)
        (void)fwrite(out.data, 1, out.size, stdout);
    buf_free(&out);
    return ok;
}

/* Names in them come from the module, and go into JSON. */
static bool put_findings(struct exec *exec, struct error *error)
{
    struct buf raw;
    buf_init(&raw, LIMIT_MIB);
    valgrind_put_findings(&exec->valgrind, &raw);
    char *room = buf_reserve(&exec->findings, 3 * raw.size + 1);
    if (room != NULL)
        buf_commit(&exec->findings, text_clean(room, 3 * raw.size + 1, raw.data, raw.size));
    buf_free(&raw);
    return room != NULL || error_out_of_memory(error);
}

static int run(struct exec *exec, struct error *error)
{
    exec->request.on_line = take_line;
    exec->request.context = exec;
    bool ran = exec_run(&exec->module, &exec->request, &exec->report, error);
    if (!put_findings(exec, error))
        return FAILED;
    if (!ran) {
        plain_print(stderr, exec->findings.data);
        return FAILED;
    }
    if (!exec->invocation->json)
        print_text(exec);
    else if (!print_json(exec, error))
        return FAILED;
    return exec->report.outcome == POOL_COMPLETED && exec->findings.size == 0 ? DONE
                                                                              : ERROR_ANSWER_NO;
}

/* As if nothing had been cleaned up before: shells and scripts look at how we ended. */
static void end_by(int number)
{
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static int execute(struct invocation *invocation, struct error *error)
{
    struct exec exec = {.invocation = invocation, .module = {.runner_program = -1}};
    int status = FAILED;
    buf_init(&exec.input, (size_t)LIMIT_PAYLOAD_DEFAULT_MIB * LIMIT_MIB);
    buf_init(&exec.flow_input, (size_t)LIMIT_PAYLOAD_DEFAULT_MIB * LIMIT_MIB);
    buf_init(&exec.log, (size_t)LIMIT_PAYLOAD_DEFAULT_MIB * LIMIT_MIB);
    buf_init(&exec.findings, (size_t)4 * LIMIT_MIB);
    if (read_pass_env(&exec, error) &&
        exec_module_open(&exec.module, invocation->arguments[0], exec.request.pass_env, error) &&
        read_request(&exec, error))
        status = run(&exec, error);
    int interrupted_by = exec.report.interrupted_by;
    exec_report_free(&exec.report);
    valgrind_finish(&exec.valgrind);
    exec_module_close(&exec.module);
    buf_free(&exec.input);
    buf_free(&exec.flow_input);
    buf_free(&exec.log);
    buf_free(&exec.findings);
    free(exec.names);
    if (interrupted_by != 0)
        end_by(interrupted_by);
    return status;
}

const struct command command_exec = {
    .name = "exec",
    .arguments = "FILE.so",
    .summary = "run one handler of a module, without a database",
    .help = "Calls the step in a process of its own, with the limits of a host (timeout, memory),\n"
            "and prints its result. stderr gets its output, the time in the handler and the\n"
            "memory of its process. Exit 0 if it gave a result, 1 if it failed or died.\n"
            "\n"
            "The input is what the step would get: the run's input for a step without\n"
            "dependencies, one element for a map, otherwise an object with the outputs of its\n"
            "dependencies.\n",
    .least = 1,
    .most = 1,
    .examples = "pgflowctl exec ./audit_v2.so --step scan --input '{\"path\": \"/usr\"}'\n"
                "pgflowctl exec ./audit_v2.so --step count --input @files.json --under valgrind\n",
    .run = execute,
    .options = {{"step", "STEP", "which step (default: the only one)"},
                {"input", "JSON|@FILE|-", "its input (default: {}); - reads stdin"},
                {"flow-input", "JSON|@FILE|-", "the run's input, where the step asks for it"},
                {"repeat", "N", "N calls in one process, until one fails"},
                {"attempt", "N", "which attempt it is told (default: 1)"},
                {"under", "valgrind", "look for memory errors and leaks; exit 1 with any"},
                {"handler-memory", "MIB",
                 "its limit of address space; 0: none (default: $PGFLOW_HANDLER_MEMORY, "
                 "--config, 512)"},
                {"pass-env", "NAME,...", "variables of the environment it may see"}},
};
