/*
 * What a task leaves in its process: put back, or its runner runs no further task. The words are
 * those of the module `leaks`, in tests/plugins/README.md.
 */
#include "harness.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct harness h;
static struct pool_module *leaks;

static void open_module(const char *name)
{
    harness_init(&h);
    h.config.concurrency = 1;
    harness_start(&h);
    leaks = harness_add(&h, name);
}

static void open_leaks(void)
{
    open_module("leaks");
}

static void open_growing(void)
{
    open_module("leaks_grow");
}

static void close_leaks(void)
{
    harness_finish(&h);
}

TestSuite(residue, .init = open_leaks, .fini = close_leaks, .timeout = 120);
TestSuite(residue_growing, .init = open_growing, .fini = close_leaks, .timeout = 120);

/* A task that says how it found its process. */
struct look {
    pid_t pid;
    char *state;
};

static struct look look(void)
{
    struct record task = {0};
    struct look seen;
    cJSON *output;

    harness_run(&h, &task, leaks, "leave", "{}");
    cr_assert_eq(task.outcome, POOL_COMPLETED, "%s", task.error);
    output = cJSON_Parse(task.output);
    cr_assert_not_null(output, "%s", task.output);
    seen.state = cJSON_Print(cJSON_GetObjectItem(output, "state"));
    seen.pid = task.pid;
    cJSON_Delete(output);
    record_free(&task);
    return seen;
}

/* False: this user or machine cannot. */
static bool leave(const char *params)
{
    struct record task = {0};
    bool left;

    harness_run(&h, &task, leaks, "leave", params);
    left = task.outcome == POOL_COMPLETED;
    if (!left)
        cr_assert_str_eq(task.error, "cannot leave it here");
    record_free(&task);
    return left;
}

static bool leave_word(const char *word)
{
    char params[128];

    snprintf(params, sizeof params, "{\"what\": \"%s\", \"blind\": 1}", word);
    return leave(params);
}

static void expect_same(const struct look *before, struct look after, const char *word)
{
    cr_assert_str_eq(after.state, before->state, "after '%s'", word);
    free(after.state);
}

static void expect_put_back(const char *word)
{
    struct look first = look();
    struct look next;

    if (leave_word(word)) {
        next = look();
        cr_assert_eq(next.pid, first.pid, "the runner was replaced after '%s'", word);
        expect_same(&first, next, word);
    }
    cr_assert_not(harness_has_event(&h, "runner_recycled"));
    free(first.state);
}

static void expect_recycled(const char *word, const char *event)
{
    struct look first = look();
    struct look next;
    char text[256];

    snprintf(text, sizeof text, "runner_recycled: recycled: the task left %s", event);
    if (leave_word(word)) {
        next = look();
        cr_assert_neq(next.pid, first.pid, "the runner lives on after '%s'", word);
        expect_same(&first, next, word);
        cr_assert(harness_has_event(&h, text), "no event '%s'", text);
    }
    free(first.state);
}

Test(residue, what_can_be_is_put_back)
{
    static const char *const words[] = {
        "alarm",     "virtual_timer", "profiling_timer", "timers", "mask",
        "pending",   "pending_alarm", "folder",          "umask",  "nice",
        "scheduler", "io_priority",   "parent_death"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (geteuid() == 0 || (strcmp(words[i], "nice") != 0))
            expect_put_back(words[i]);
}

Test(residue, alarm_does_not_end_the_next_task)
{
    struct look first = look();
    struct record task = {0};

    cr_assert(leave_word("alarm"));
    harness_run(&h, &task, leaks, "leave", "{\"us\": 1500000}");
    cr_assert_eq(task.outcome, POOL_COMPLETED, "%s", task.error);
    cr_assert_eq(task.pid, first.pid);
    record_free(&task);
    free(first.state);
}

/* A long task is looked at whatever it called. */
Test(residue, timer_that_was_set_without_libc_is_put_back_after_a_long_task)
{
    struct look first = look();

    cr_assert(leave("{\"what\": \"alarm_by_hand\", \"blind\": 1, \"us\": 1100}"));
    expect_same(&first, look(), "alarm_by_hand");
    free(first.state);
}

struct change {
    const char *word, *event;
};

Test(residue, what_cannot_be_put_back_ends_the_runner)
{
    static const struct change changes[] = {
        {"setenv", "a changed environment"},
        {"unsetenv", "a changed environment"},
        {"written_env", "a changed environment"},
        {"clearenv", "a changed environment"},
        {"locale", "another locale"},
        {"thread_locale", "another locale"},
        {"rounding", "another floating-point mode"},
        {"traps", "another floating-point mode"},
        {"flush_to_zero", "another floating-point mode"},
        {"limit", "other resource limits"},
        {"stack_limit", "other resource limits"},
        {"user", "other credentials"},
        {"group", "other credentials"},
        {"groups", "other credentials"},
        {"capabilities", "other credentials"},
        {"namespace", "other namespaces"},
        {"network", "other namespaces"},
        {"user_namespace", "other credentials and other namespaces"},
        {"affinity", "another CPU affinity"},
        {"nonblocking", "changed inherited descriptors"},
        {"cloexec", "changed inherited descriptors"},
        {"redirected", "changed inherited descriptors"},
        {"closed", "changed inherited descriptors"},
    };

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        expect_recycled(changes[i].word, changes[i].event);
}

Test(residue, what_is_more_than_after_the_first_task_ends_the_runner)
{
    static const struct change changes[] = {
        {"handler", "signal handlers"},
        {"real_time_handler", "signal handlers"},
        {"ignored", "signal handlers"},
        {"broken_pipe", "signal handlers"},
        {"thread", "more threads"},
        {"descriptor", "more open descriptors"},
        {"child", "more child processes"},
        {"zombie", "more child processes"},
        {"orphan", "more child processes"},
        {"spawned", "more child processes"},
        {"by_shell", "more child processes"},
        {"as_a_runtime",
         "signal handlers, more threads, more open descriptors and more child processes"},
        {"setenv,thread", "a changed environment and more threads"},
    };

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        expect_recycled(changes[i].word, changes[i].event);
}

Test(residue, what_a_task_undoes_itself_costs_no_runner)
{
    static const char *const words[] = {"join",          "system",     "open_and_close",
                                        "unset_and_set", "arithmetic", "handle_and_restore",
                                        "print",         "nothing"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        expect_put_back(words[i]);
}

/* As a JVM, Go or Python does that is started by the first task. */
Test(residue, what_the_first_task_makes_may_stay)
{
    struct look next;

    cr_assert(leave_word("as_a_runtime"));
    for (int i = 0; i < 3; i++) {
        pid_t pid = (next = look()).pid;

        free(next.state);
        cr_assert(leave_word("join,system,open_and_close"));
        next = look();
        cr_assert_eq(next.pid, pid);
        free(next.state);
    }
    cr_assert_eq(pool_gauges(h.pool).spawned, 1);
    cr_assert(leave_word("thread"));
    next = look();
    free(next.state);
    cr_assert_eq(pool_gauges(h.pool).spawned, 2, "one more than the first task made");
}

Test(residue_growing, module_that_may_grow_keeps_its_runner)
{
    struct look first = look();
    struct look next;

    for (int i = 0; i < 3; i++)
        cr_assert(leave_word("as_a_runtime,orphan,real_time_handler"));
    next = look();
    cr_assert_eq(next.pid, first.pid);
    free(next.state);
    cr_assert(leave_word("setenv"));
    expect_same(&first, (next = look()), "setenv");
    cr_assert_neq(next.pid, first.pid, "the flag is about growth alone");
    free(first.state);
}

/* Tasks that were sent along with the one that left something run elsewhere, once and unblamed. */
Test(residue, tasks_behind_it_run_in_another_runner)
{
    enum { BEHIND = 7 };
    struct record first = {0};
    static struct record behind[BEHIND];
    struct look warm = look();

    harness_submit(&h, &first, leaks, "leave", "{\"what\": \"setenv\", \"us\": 20000}");
    for (int i = 0; i < BEHIND; i++)
        harness_submit(&h, &behind[i], leaks, "leave", "{}");
    cr_assert_gt(pool_gauges(h.pool).prefetched, 0, "none waits in the socket");
    for (int i = 0; i < BEHIND; i++) {
        harness_wait(&h, &behind[i].done, 1);
        cr_assert_eq(behind[i].outcome, POOL_COMPLETED, "%s", behind[i].error);
        cr_assert_eq(behind[i].started, 1);
        cr_assert_neq(behind[i].pid, warm.pid);
        cr_assert_null(strstr(behind[i].output, "LEFT_BY_A_TASK"));
        record_free(&behind[i]);
    }
    cr_assert_eq(first.pid, warm.pid);
    cr_assert_eq(first.outcome, POOL_COMPLETED);
    cr_assert_eq(pool_gauges(h.pool).prefetched, 0);
    record_free(&first);
    free(warm.state);
}

/* The log has the first of a kind at warn, and is not flooded. */
Test(residue, log_warns_once_of_each_kind)
{
    for (int i = 0; i < 3; i++) {
        cr_assert(leave_word("setenv"));
        cr_assert(leave_word("rounding"));
    }
    cr_assert_eq(harness_count_events(&h, "runner_recycled"), 6);
    cr_assert_eq(harness_count_warnings(&h, "runner_recycled"), 2);
}
