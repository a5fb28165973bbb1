/* SPDX-License-Identifier: Apache-2.0
 * The load of the chaos suite: two flows, each in two versions, over three queues. Every
 * result follows from the run's "n" and the version, so that the suite can say what each
 * run must give; tests/chaos/chaos/load.py has the same sums.
 *
 *     orders   prepare, work, check (V2) on chaos_main; deliver, with a short timeout, on
 * chaos_mail tally    make on chaos_main; each (a map) and sum on chaos_bulk
 *
 * `work` does as "fault" in the run's input on its first attempt; `kib` makes deliver's
 * result that much longer; "ms" and "file" are those of work_as_asked. */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if CHAOS_VERSION == 1
#define SLUG_OF(flow) flow "_v1"
#define VERSION "1.0.0"
#else
#define SLUG_OF(flow) flow "_v2"
#define VERSION "2.0.0"
#endif

enum { MIB = 1 << 20, BOMB_LIMIT = 400, CHILD_S = 15 };

/* Ten attempts: a task may meet several faults. No pause between them, so that a run ends
 * soon after the last fault. */
static const pgf_options flow_options = {
    .max_attempts = PGF_INT(10), .base_delay_s = PGF_INT(0), .timeout_s = PGF_INT(10)};

#ifdef CHAOS_ORDERS

static const pgf_options short_timeout = {.timeout_s = PGF_INT(3)};

/* The number that the step `name` gave, from the input {"name": number, ...}. */
static long output_of(const pgf_call *call, const char *name)
{
    pgf_call only_input = *call;
    only_input.flow_input = (pgf_str){NULL, 0};
    return param_number(&only_input, name, 0);
}

/* A child that outlives its handler by some seconds and cares for no signal but KILL. */
static void child_sleeps(bool own_session)
{
    unsigned left = CHILD_S;
    if (own_session && setsid() < 0)
        _exit(1);
    while (left > 0)
        left = sleep(left);
    _exit(0);
}

static void leave_grandchildren(void)
{
    for (int session = 0; session <= 1; session++) {
        pid_t child = fork();
        if (child == 0) {
            if (fork() == 0)
                child_sleeps(session == 1);
            _exit(0);
        }
        if (child > 0)
            (void)waitpid(child, NULL, 0);
    }
}

/* Until the kernel says no; at most BOMB_LIMIT, should nobody have set a limit. */
static void fork_until_refused(void)
{
    for (int i = 0; i < BOMB_LIMIT; i++) {
        pid_t child = fork();
        if (child == 0)
            child_sleeps(false);
        if (child < 0)
            return;
    }
}

static void take_all_memory(void)
{
    for (;;) {
        char *block = malloc(16 * (size_t)MIB);
        if (block == NULL)
            abort();
        memset(block, 1, 16 * (size_t)MIB);
    }
}

static void flood_stderr(void)
{
    static const char line[] = "a line of a flood, and behind it comes another one just like it\n";
    for (int i = 0; i < 64 * 1024; i++)
        if (write(STDERR_FILENO, line, sizeof line - 1) < 0)
            return;
}

static void apply_fault(const pgf_call *call)
{
    char fault[32];
    if (call->attempt > 1 || !param_text(call, "fault", fault, sizeof fault))
        return;
    if (strcmp(fault, "memory") == 0)
        take_all_memory();
    else if (strcmp(fault, "crash") == 0)
        abort();
    else if (strcmp(fault, "flood") == 0)
        flood_stderr();
    else if (strcmp(fault, "grandchildren") == 0)
        leave_grandchildren();
    else if (strcmp(fault, "fork_bomb") == 0)
        fork_until_refused();
}

static int32_t prepare(void *state, const pgf_call *call)
{
    (void)state;
    work_as_asked(call);
    long value = 3 * param_number(call, "n", 0) + CHAOS_VERSION;
    return put_format(call, "%ld", value) ? PGF_OK : PGF_PERMANENT;
}

static int32_t work(void *state, const pgf_call *call)
{
    (void)state;
    apply_fault(call);
    work_as_asked(call);
    return put_format(call, "%ld", 2 * output_of(call, "prepare") + 1) ? PGF_OK : PGF_PERMANENT;
}

#if CHAOS_VERSION == 2
static int32_t check(void *state, const pgf_call *call)
{
    (void)state;
    work_as_asked(call);
    return put_format(call, "%ld", output_of(call, "prepare") + 7) ? PGF_OK : PGF_PERMANENT;
}
#endif

static int32_t deliver(void *state, const pgf_call *call)
{
    static char kibibyte[1024];
    long value = output_of(call, "work") + output_of(call, "check") + CHAOS_VERSION;
    bool ok;
    (void)state;
    work_as_asked(call);
    memset(kibibyte, 'x', sizeof kibibyte);
    ok = put_format(call, "{\"total\": %ld, \"pad\": \"", value);
    for (long kib = param_number(call, "kib", 0); ok && kib > 0; kib--)
        ok = call->write(call, kibibyte, sizeof kibibyte) == 0;
    return ok && put(call, "\"}") ? PGF_OK : PGF_PERMANENT;
}

static const char *const after_prepare[] = {"prepare", NULL};
#if CHAOS_VERSION == 1
static const char *const before_deliver[] = {"work", NULL};
#else
static const char *const before_deliver[] = {"work", "check", NULL};
#endif

static const pgf_step steps[] = {
    {.slug = "prepare", .queue = "chaos_main", .run = prepare},
    {.slug = "work",
     .deps = after_prepare,
     .queue = "chaos_main",
     .flags = PGF_WANTS_FLOW_INPUT,
     .run = work},
#if CHAOS_VERSION == 2
    {.slug = "check",
     .deps = after_prepare,
     .queue = "chaos_main",
     .flags = PGF_WANTS_FLOW_INPUT,
     .run = check},
#endif
    {.slug = "deliver",
     .deps = before_deliver,
     .queue = "chaos_mail",
     .flags = PGF_WANTS_FLOW_INPUT,
     .options = &short_timeout,
     .run = deliver},
};

#define FLOW "orders"

#else

static int32_t make(void *state, const pgf_call *call)
{
    long count = param_number(call, "n", 0) % 7 + 1;
    (void)state;
    work_as_asked(call);
    bool ok = put(call, "[");
    for (long i = 0; i < count && ok; i++)
        ok = put_format(call, i == 0 ? "%ld" : ",%ld", i);
    return ok && put(call, "]") ? PGF_OK : PGF_PERMANENT;
}

/* The input of a map's task is the bare element. */
static int32_t each(void *state, const pgf_call *call)
{
    char digits[24] = {0};
    (void)state;
    work_as_asked(call);
    memcpy(digits, call->input.ptr,
           call->input.len < sizeof digits ? call->input.len : sizeof digits - 1);
    return put_format(call, "%ld", 2 * strtol(digits, NULL, 10) + CHAOS_VERSION) ? PGF_OK
                                                                                 : PGF_PERMANENT;
}

/* Adds every number in {"each": [1, 2, ...]}. */
static int32_t sum(void *state, const pgf_call *call)
{
    const char *at = memchr(call->input.ptr, '[', call->input.len);
    const char *end = call->input.ptr + call->input.len;
    long total = 0;
    (void)state;
    work_as_asked(call);
    while (at != NULL && at < end && *at != ']') {
        long number = 0;
        for (at++; at < end && *at != ',' && *at != ']'; at++)
            if (*at >= '0' && *at <= '9')
                number = number * 10 + (*at - '0');
        total += number;
    }
    return put_format(call, "%ld", total) ? PGF_OK : PGF_PERMANENT;
}

static const char *const after_make[] = {"make", NULL};
static const char *const after_each[] = {"each", NULL};

static const pgf_step steps[] = {
    {.slug = "make", .queue = "chaos_main", .run = make},
    {.slug = "each",
     .kind = PGF_STEP_MAP,
     .deps = after_make,
     .queue = "chaos_bulk",
     .flags = PGF_WANTS_FLOW_INPUT,
     .run = each},
    {.slug = "sum",
     .deps = after_each,
     .queue = "chaos_bulk",
     .flags = PGF_WANTS_FLOW_INPUT,
     .run = sum},
};

#define FLOW "tally"

#endif

PGF_EXPORT const pgf_module pgflow_module_v1 = {
    PGF_MODULE_HEADER,        .flow_slug = SLUG_OF(FLOW),     .alias = FLOW,
    .version = VERSION,       .queue_mode = PGF_QUEUE_ROUTED, .options = &flow_options,
    .steps = PGF_ARRAY(steps)};
