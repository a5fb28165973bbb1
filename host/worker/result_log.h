/*
 * The log lines about single tasks: what their handlers did, what the database made of it.
 */
#ifndef PGFLOW_WORKER_RESULT_LOG_H
#define PGFLOW_WORKER_RESULT_LOG_H

#include "db/calls.h"

struct pool_result;
struct task;
struct worker;

void result_log_handler(const struct worker *worker, const struct task *task,
                        const struct pool_result *result);
void result_log_outcome(const struct worker *worker, const struct task *task,
                        const struct db_finish_answer *answer);
void result_log_release(const struct worker *worker, const struct task *task,
                        enum db_release_outcome outcome);
void result_log_abandoned(const struct worker *worker, const struct task *task,
                          const struct db_status *status);

#endif
