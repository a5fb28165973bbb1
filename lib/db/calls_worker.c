/*
 * Calls of a worker's life: register, heartbeat, offer, maintain, stop.
 */
#include "db/calls_support.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- register_worker ---- */

static void answer_register(struct call *call, const struct db_status *status, PGresult *result)
{
    static const char *const words[] = {
        [DB_REGISTERED] = "registered",
        [DB_REGISTER_DISABLED] = "disabled",
        [DB_REGISTER_OTHER_QUEUE] = "other_queue",
        [DB_REGISTER_SUPERSEDED] = "superseded",
        [DB_REGISTER_WRONG_MODULES] = "wrong_modules",
        [DB_REGISTER_NOT_IN_MANIFEST] = "not_in_manifest",
    };
    db_register_done done = (db_register_done)call->done;
    if (result == NULL) {
        done(call->ctx, status, NULL);
        return;
    }
    int word = result_word(result_text(result, 0, 0), words, COUNT(words));
    enum db_registered registered = (enum db_registered)word;
    struct db_status mismatch = result_mismatch(status);
    done(call->ctx, word >= 0 ? status : &mismatch, word >= 0 ? &registered : NULL);
}

void db_register_worker(struct db *db, const struct db_registration *registration,
                        db_register_done done, void *ctx)
{
    static const struct statement statement = {
        .sql = "select pgflow.register_worker($1::uuid, $2, $3, " CALLS_PAIRS(
            "$4", "$5") ", $6::jsonb, $7, " CALLS_PAIRS("$8", "$9") ", $10::uuid)"};
    struct call *call =
        call_create(&statement, CALL_CONTROL, answer_register, (call_done)done, ctx);
    params_text(&call->params, registration->worker_id);
    params_text(&call->params, registration->queue);
    params_text(&call->params, registration->function);
    calls_put_pairs(&call->params, registration->supported);
    params_text(&call->params, registration->info != NULL ? registration->info : "{}");
    params_bool(&call->params, registration->standby);
    calls_put_pairs(&call->params, registration->suspended);
    params_text(&call->params, registration->predecessor);
    db_submit(db, call);
}

/* ---- heartbeat ---- */

static void answer_heartbeat(struct call *call, const struct db_status *status, PGresult *result)
{
    db_heartbeat_done done = (db_heartbeat_done)call->done;
    struct db_heartbeat heartbeat = {.is_deprecated = false};
    if (result == NULL) {
        done(call->ctx, status, NULL);
        return;
    }
    struct db_status mismatch = result_mismatch(status);
    bool read = PQntuples(result) == 1 && result_texts(result, 0, 2, &heartbeat.ended_runs);
    if (read) {
        heartbeat.is_deprecated = result_bool(result, 0, 0);
        heartbeat.must_stop = result_bool(result, 0, 1);
    }
    done(call->ctx, read ? status : &mismatch, read ? &heartbeat : NULL);
    result_texts_free(&heartbeat.ended_runs);
}

void db_heartbeat(struct db *db, const char *worker_id, struct db_texts runs_in_flight,
                  struct db_pairs suspended, db_heartbeat_done done, void *ctx)
{
    static const struct statement statement = {
        .name = "heartbeat",
        .sql = "select is_deprecated, must_stop, ended_runs from"
               " pgflow.heartbeat($1::uuid, $2::text[]::uuid[], " CALLS_PAIRS("$3", "$4") ")"};
    struct call *call =
        call_create(&statement, CALL_CONTROL, answer_heartbeat, (call_done)done, ctx);
    params_text(&call->params, worker_id);
    calls_put_texts(&call->params, runs_in_flight);
    calls_put_pairs(&call->params, suspended);
    db_submit(db, call);
}

void db_mark_worker_stopped(struct db *db, const char *worker_id, db_done done, void *ctx)
{
    static const struct statement statement = {.sql =
                                                   "select pgflow.mark_worker_stopped($1::uuid)"};
    struct call *call =
        call_create(&statement, CALL_CONTROL, calls_answer_done, (call_done)done, ctx);
    params_text(&call->params, worker_id);
    db_submit(db, call);
}

/* ---- offer_activation ---- */

static void answer_offer(struct call *call, const struct db_status *status, PGresult *result)
{
    static const char *const words[] = {
        [DB_OFFER_ACTIVATED] = "activated",
        [DB_OFFER_ACTIVE] = "active",
        [DB_OFFER_WAITING] = "waiting",
        [DB_OFFER_SUPERSEDED] = "superseded",
    };
    db_offer_done done = (db_offer_done)call->done;
    struct db_offer offer = {.active_flow = NULL};
    if (result == NULL) {
        done(call->ctx, status, NULL);
        return;
    }
    struct db_status mismatch = result_mismatch(status);
    int word =
        PQntuples(result) == 1 ? result_word(result_text(result, 0, 0), words, COUNT(words)) : -1;
    bool read = word >= 0 && result_texts(result, 0, 2, &offer.queues) &&
                result_texts(result, 0, 3, &offer.reasons);
    if (read) {
        offer.offered = (enum db_offered)word;
        offer.active_flow = result_text(result, 0, 1);
    }
    done(call->ctx, read ? status : &mismatch, read ? &offer : NULL);
    result_texts_free(&offer.queues);
    result_texts_free(&offer.reasons);
}

void db_offer_activation(struct db *db, const char *flow, const char *worker_id, db_offer_done done,
                         void *ctx)
{
    static const struct statement statement = {
        .name = "offer_activation",
        .sql = "select activation, active_flow_slug, queues, reasons from"
               " pgflow.offer_activation($1, $2::uuid)"};
    struct call *call = call_create(&statement, CALL_SIDE, answer_offer, (call_done)done, ctx);
    params_text(&call->params, flow);
    params_text(&call->params, worker_id);
    db_submit(db, call);
}

/* ---- begin_idle, end_idle ---- */

static void answer_rest(struct call *call, const struct db_status *status, PGresult *result)
{
    static const char *const words[] = {
        [DB_IDLE_AWAKE] = "awake",
        [DB_IDLE_WATCHED] = "watched",
        [DB_IDLE_ASLEEP] = "asleep",
    };
    db_rest_done done = (db_rest_done)call->done;
    if (result == NULL) {
        done(call->ctx, status, NULL);
        return;
    }
    int word =
        PQntuples(result) == 1 ? result_word(result_text(result, 0, 0), words, COUNT(words)) : -1;
    enum db_idle idle = (enum db_idle)word;
    struct db_status mismatch = result_mismatch(status);
    done(call->ctx, word >= 0 ? status : &mismatch, word >= 0 ? &idle : NULL);
}

void db_begin_idle(struct db *db, const char *queue, bool insist, db_rest_done done, void *ctx)
{
    static const struct statement statement = {.name = "begin_idle",
                                               .sql = "select pgflow.begin_idle($1, $2)"};
    struct call *call = call_create(&statement, CALL_LISTEN, answer_rest, (call_done)done, ctx);
    params_text(&call->params, queue);
    params_bool(&call->params, insist);
    db_submit(db, call);
}

void db_end_idle(struct db *db, db_done done, void *ctx)
{
    static const struct statement statement = {.name = "end_idle",
                                               .sql = "select pgflow.end_idle()"};
    db_submit(db, call_create(&statement, CALL_LISTEN, calls_answer_done, (call_done)done, ctx));
}

/* ---- maintain ---- */

void db_maintain(struct db *db, db_count_done done, void *ctx)
{
    static const struct statement statement = {.name = "maintain",
                                               .sql = "select pgflow.maintain()"};
    db_submit(db, call_create(&statement, CALL_SIDE, calls_answer_count, (call_done)done, ctx));
}
