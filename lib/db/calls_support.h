/*
 * What the calls_*.c share. Private to lib/db.
 */
#ifndef PGFLOW_DB_CALLS_SUPPORT_H
#define PGFLOW_DB_CALLS_SUPPORT_H

#include "db/calls.h"
#include "db/db_private.h"
#include "db/result.h"

/* An array of pairs travels as two text[] parameters: the oid of
 * pgflow.task_pair differs from database to database. */
#define CALLS_PAIRS(flows, steps)                                                                  \
    "array(select (f, s)::pgflow.task_pair from unnest(" flows "::text[], " steps                  \
    "::text[]) as p(f, s))"

void calls_put_pairs(struct params *params, struct db_pairs pairs);
void calls_put_texts(struct params *params, struct db_texts texts);

/* Four parameters: run_ids, step_slugs, task_indexes, claim_nos. `stride`:
 * bytes from one struct db_task_ref to the next, for those inside an item. */
void calls_put_task_refs(struct params *params, const struct db_task_ref *first, size_t stride,
                         size_t count);

/* For calls without a result: done is a db_done. */
void calls_answer_done(struct call *call, const struct db_status *status, PGresult *result);
/* For calls that answer one int: done is a db_count_done. */
void calls_answer_count(struct call *call, const struct db_status *status, PGresult *result);

#endif
