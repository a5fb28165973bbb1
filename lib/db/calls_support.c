/*
 * Parameters and answers that several calls have in common.
 */
#include "db/calls_support.h"

#include <string.h>

static void put_text(struct param *param, const char *text)
{
    param_put_text(param, text, text != NULL ? strlen(text) : 0);
}

void calls_put_texts(struct params *params, struct db_texts texts)
{
    struct param *param = params_array(params, PARAMS_TEXT_ARRAY, texts.count, 0);
    for (size_t i = 0; i < texts.count; i++)
        put_text(param, texts.items[i]);
}

void calls_put_pairs(struct params *params, struct db_pairs pairs)
{
    struct param *flows = params_array(params, PARAMS_TEXT_ARRAY, pairs.count, 0);
    for (size_t i = 0; i < pairs.count; i++)
        put_text(flows, pairs.items[i].flow);
    struct param *steps = params_array(params, PARAMS_TEXT_ARRAY, pairs.count, 0);
    for (size_t i = 0; i < pairs.count; i++)
        put_text(steps, pairs.items[i].step);
}

static const struct db_task_ref *ref_at(const struct db_task_ref *first, size_t stride, size_t i)
{
    return (const struct db_task_ref *)((const char *)first + i * stride);
}

void calls_put_task_refs(struct params *params, const struct db_task_ref *first, size_t stride,
                         size_t count)
{
    struct param *runs = params_array(params, PARAMS_TEXT_ARRAY, count, LIMIT_UUID_TEXT * count);
    for (size_t i = 0; i < count; i++)
        put_text(runs, ref_at(first, stride, i)->run_id);
    struct param *steps = params_array(params, PARAMS_TEXT_ARRAY, count, 0);
    for (size_t i = 0; i < count; i++)
        put_text(steps, ref_at(first, stride, i)->step);
    struct param *indexes = params_array(params, PARAMS_INT_ARRAY, count, 0);
    for (size_t i = 0; i < count; i++)
        param_put_int(indexes, ref_at(first, stride, i)->task_index);
    struct param *claims = params_array(params, PARAMS_INT_ARRAY, count, 0);
    for (size_t i = 0; i < count; i++)
        param_put_int(claims, ref_at(first, stride, i)->claim_no);
}

void calls_answer_done(struct call *call, const struct db_status *status, PGresult *result)
{
    (void)result;
    ((db_done)call->done)(call->ctx, status);
}

void calls_answer_count(struct call *call, const struct db_status *status, PGresult *result)
{
    db_count_done done = (db_count_done)call->done;
    if (result == NULL) {
        done(call->ctx, status, NULL);
    } else if (PQntuples(result) != 1 || PQnfields(result) < 1) {
        struct db_status mismatch = result_mismatch(status);
        done(call->ctx, &mismatch, NULL);
    } else {
        int count = result_int(result, 0, 0, 0);
        done(call->ctx, status, &count);
    }
}
