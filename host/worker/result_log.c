#include "worker/result_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log/log.h"
#include "worker/worker_private.h"

#define TASK_FIELDS                                                                                \
    LOG_QUEUE(worker->queue), LOG_FLOW(task->row->flow), LOG_STEP(task->row->step),                \
        LOG_RUN(task->row->run_id), LOG_TASK(task->row->task_index),                               \
        LOG_ATTEMPT(task->row->attempt), LOG_MSG_ID(task->row->msg_id)

/* The first line of why an attempt failed: the handler's own words, or what the host found. The
 * whole text is in the database. */
static void first_line(char *line, size_t size, const struct pool_result *result)
{
    snprintf(line, size, "%.*s", (int)strcspn(result->error, "\n"), result->error);
}

void result_log_handler(const struct worker *worker, const struct task *task,
                        const struct pool_result *result)
{
    char line[256] = "";

    switch (result->outcome) {
    case POOL_COMPLETED:
        log_debug("handler_done", "handler completed", TASK_FIELDS, LOG_PID(result->pid),
                  LOG_MS(result->ms));
        return;
    case POOL_FAILED:
    case POOL_PERMANENT:
        first_line(line, sizeof line, result);
        log_warn("handler_failed", result->died ? "the runner died of it" : "handler failed",
                 TASK_FIELDS, LOG_PID(result->pid), LOG_MS(result->ms),
                 LOG_ERROR(line[0] != '\0' ? line : NULL));
        return;
    case POOL_CANCELLED:
        log_info("handler_cancelled",
                 result->why == POOL_RUN_ENDED ? "stopped: its run has ended"
                                               : "stopped: this host shuts down",
                 TASK_FIELDS, LOG_PID(result->pid), LOG_MS(result->ms));
        return;
    case POOL_RETURNED:
        log_info("task_returned", "released before its handler began", TASK_FIELDS);
        return;
    }
}

/* The detail of a retry is its delay; that of the others is the handler's error, or quotes its
 * output. */
static bool is_about_the_task(enum db_finish_outcome outcome)
{
    return outcome == DB_FINISH_AGAIN || outcome == DB_FINISH_LATE || outcome == DB_FINISH_GONE;
}

void result_log_outcome(const struct worker *worker, const struct task *task,
                        const struct db_finish_answer *answer)
{
    static const char *const events[] = {
        [DB_FINISH_COMPLETED] = "task_completed", [DB_FINISH_RETRYING] = "task_retrying",
        [DB_FINISH_FAILED] = "task_failed",       [DB_FINISH_SKIPPED] = "task_skipped",
        [DB_FINISH_AGAIN] = "task_again",         [DB_FINISH_LATE] = "task_late",
        [DB_FINISH_GONE] = "task_gone",           [DB_FINISH_REFUSED] = "task_refused"};
    static const char *const texts[] = {[DB_FINISH_COMPLETED] = "completed",
                                        [DB_FINISH_RETRYING] = "failed, to be tried again",
                                        [DB_FINISH_FAILED] = "failed for good",
                                        [DB_FINISH_SKIPPED] = "failed, its step is skipped",
                                        [DB_FINISH_AGAIN] = "recorded before",
                                        [DB_FINISH_LATE] =
                                            "too late: the task was given to somebody else",
                                        [DB_FINISH_GONE] = "the task is gone",
                                        [DB_FINISH_REFUSED] = "its output cannot be stored"};
    static const enum log_level levels[] = {
        [DB_FINISH_COMPLETED] = LOG_LEVEL_DEBUG, [DB_FINISH_RETRYING] = LOG_LEVEL_WARN,
        [DB_FINISH_FAILED] = LOG_LEVEL_ERROR,    [DB_FINISH_SKIPPED] = LOG_LEVEL_WARN,
        [DB_FINISH_AGAIN] = LOG_LEVEL_INFO,      [DB_FINISH_LATE] = LOG_LEVEL_WARN,
        [DB_FINISH_GONE] = LOG_LEVEL_INFO,       [DB_FINISH_REFUSED] = LOG_LEVEL_ERROR};
    bool retries = answer->outcome == DB_FINISH_RETRYING && answer->detail != NULL;

    struct log_field most =
        retries ? LOG_FIELD_INT("max_attempts", task->row->max_attempts) : LOG_FIELD_NONE;
    struct log_field pause =
        retries ? LOG_FIELD_INT("retry_in_s", strtol(answer->detail, NULL, 10)) : LOG_FIELD_NONE;

    LOG_AT(levels[answer->outcome], events[answer->outcome], texts[answer->outcome], TASK_FIELDS,
           most, pause, LOG_ERROR(is_about_the_task(answer->outcome) ? answer->detail : NULL));
}

void result_log_release(const struct worker *worker, const struct task *task,
                        enum db_release_outcome outcome)
{
    bool released = outcome == DB_RELEASED;

    LOG_AT(LOG_LEVEL_DEBUG, released ? "task_released" : "task_late",
           released ? "released to the queue, attempt not counted"
                    : "no longer a claim of this host",
           TASK_FIELDS);
}

void result_log_abandoned(const struct worker *worker, const struct task *task,
                          const struct db_status *status)
{
    log_error("result_abandoned",
              "the database refuses to record this result; recovery decides about the task",
              TASK_FIELDS, LOG_FIELD_TEXT("sqlstate", status->sqlstate), LOG_ERROR(status->text));
}
