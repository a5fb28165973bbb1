/*
 * Sending one statement and turning what came back into a db_status.
 */
#include "db/call.h"

#include "db/sqlstate.h"
#include "log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct call *call_create(const struct statement *statement, enum call_connection connection,
                         call_answer answer, call_done done, void *ctx)
{
    struct call *call = calloc(1, sizeof *call);
    if (call == NULL) {
        log_fatal("out_of_memory", "no memory for a database call");
        abort();
    }
    call->statement = statement;
    call->connection = connection;
    call->answer = answer;
    call->done = done;
    call->ctx = ctx;
    params_init(&call->params);
    return call;
}

void call_destroy(struct call *call)
{
    PQclear(call->result);
    params_free(&call->params);
    free(call);
}

bool call_send(struct call *call, PGconn *conn, bool is_prepared, const char *prepared_name)
{
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX];
    int formats[PARAMS_MAX];
    Oid types[PARAMS_MAX];
    int count = call->params.count;
    for (int i = 0; i < count; i++) {
        const struct param *param = &call->params.items[i];
        values[i] = param->is_null ? NULL : param->bytes.data;
        lengths[i] = (int)param->bytes.size;
        formats[i] = param->format;
        types[i] = param->type;
    }
    call->sent_ns = uv_hrtime();
    call->sendings++;
    call->is_named = prepared_name != NULL;
    call->prepare_ahead = prepared_name != NULL && !is_prepared;
    if (prepared_name == NULL)
        return PQsendQueryParams(conn, call->statement->sql, count, types, values, lengths, formats,
                                 0) == 1;
    if (call->prepare_ahead &&
        !PQsendPrepare(conn, prepared_name, call->statement->sql, count, types))
        return false;
    return PQsendQueryPrepared(conn, prepared_name, count, values, lengths, formats, 0) == 1;
}

static bool is_error(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE;
}

void call_take_result(struct call *call, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    if (call->prepare_ahead && status == PGRES_COMMAND_OK) {
        call->prepare_ahead = false;
        PQclear(result);
    } else if (status == PGRES_PIPELINE_ABORTED ||
               (call->result != NULL && is_error(call->result))) {
        PQclear(result);
    } else {
        PQclear(call->result);
        call->result = result;
    }
}

const char *call_sqlstate(const struct call *call)
{
    if (call->result == NULL || !is_error(call->result))
        return "";
    const char *sqlstate = PQresultErrorField(call->result, PG_DIAG_SQLSTATE);
    return sqlstate != NULL ? sqlstate : "XX000";
}

/* A detail of PostgreSQL's own may quote rows and payloads; one from a RAISE in
 * our SQL names flows, queues and workers. */
static const char *own_detail(const PGresult *result)
{
    const char *source = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
    if (source == NULL || strcmp(source, "exec_stmt_raise") != 0)
        return NULL;
    return PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
}

static void describe_error(char *text, size_t size, const PGresult *result)
{
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
    (void)snprintf(text, size, "%s%s%s", primary != NULL ? primary : PQresultErrorMessage(result),
                   hint != NULL ? ". " : "", hint != NULL ? hint : "");
}

static void answer(struct call *call, const struct db_status *status)
{
    PGresult *result = call->result;
    call->result = NULL;
    call->answer(call, status, status->outcome == DB_OK ? result : NULL);
    PQclear(result);
    call_destroy(call);
}

void call_answer_result(struct call *call)
{
    char text[LIMIT_ERROR_TEXT] = "";
    struct db_status status = {
        .outcome = DB_OK, .text = text, .elapsed_ns = uv_hrtime() - call->sent_ns};
    const char *sqlstate = call_sqlstate(call);
    if (call->result == NULL) {
        status.outcome = DB_ERROR;
        status.permanent = true;
        (void)snprintf(status.sqlstate, sizeof status.sqlstate, "XX000");
        (void)snprintf(text, sizeof text, "the server gave no answer to a statement");
    } else if (*sqlstate) {
        status.outcome = DB_ERROR;
        status.permanent = sqlstate_is_permanent(sqlstate);
        (void)snprintf(status.sqlstate, sizeof status.sqlstate, "%s", sqlstate);
        status.detail = own_detail(call->result);
        describe_error(text, sizeof text, call->result);
    }
    answer(call, &status);
}

void call_answer_later(struct call *call)
{
    struct db_status status = {.outcome = call->outcome,
                               .permanent = call->permanent,
                               .text = call->text,
                               .elapsed_ns = call->sent_ns ? uv_hrtime() - call->sent_ns : 0};
    answer(call, &status);
}
