#include "fixture.h"

#include "db/migrate.h"
#include "db/result.h"
#include "log/log.h"

#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void be_quiet(void)
{
    log_open(2, LOG_FORMAT_LOGFMT, LOG_LEVEL_FATAL);
}

static void on_up(void *ctx)
{
    ((struct fixture *)ctx)->ups++;
}

static void on_down(void *ctx, const char *reason)
{
    struct fixture *fixture = ctx;
    fixture->downs++;
    snprintf(fixture->reason, sizeof fixture->reason, "%s", reason);
}

static void on_notify(void *ctx)
{
    ((struct fixture *)ctx)->notifications++;
}

static void on_fatal(void *ctx, const struct error *error)
{
    struct fixture *fixture = ctx;
    fixture->has_failed = true;
    fixture->fatal = *error;
}

static void on_closed(void *ctx)
{
    ((struct fixture *)ctx)->is_closed = true;
}

static void on_tick(uv_timer_t *timer)
{
    struct fixture *fixture = timer->data;
    fixture->is_late = uv_now(&fixture->loop) >= fixture->late_at;
}

struct db_config fixture_config(struct fixture *fixture)
{
    return (struct db_config){
        .application_name = "pgflow-test",
        .connections = 1,
        .connect_timeout_s = 10,
        .ctx = fixture,
        .on_up = on_up,
        .on_down = on_down,
        .on_notify = on_notify,
        .on_fatal = on_fatal,
    };
}

void fixture_open(struct fixture *fixture, const char *url, struct db_config config)
{
    struct error error = {.code = 0};
    uv_loop_init(&fixture->loop);
    (void)uv_timer_init(&fixture->loop, &fixture->watchdog);
    fixture->watchdog.data = fixture;
    fixture->address = db_address_create(url, &error);
    cr_assert(ne(ptr, fixture->address, NULL), "%s", error.text);
    config.address = fixture->address;
    fixture->db = db_open(&fixture->loop, &config, &error);
    cr_assert(ne(ptr, fixture->db, NULL), "%s", error.text);
}

void fixture_watch(struct fixture *fixture)
{
    /* Ticks, because one turn of the loop may wait for a socket although its
     * timers have made the condition true. */
    fixture->is_late = false;
    fixture->late_at = uv_now(&fixture->loop) + 30000;
    (void)uv_timer_start(&fixture->watchdog, on_tick, 10, 10);
}

void fixture_up(struct fixture *fixture, struct db_config config)
{
    fixture_open(fixture, NULL, config);
    UNTIL(fixture, fixture->ups == 1 || fixture->has_failed);
    cr_assert(not(fixture->has_failed), "%s", fixture->fatal.text);
}

void fixture_close(struct fixture *fixture)
{
    db_close(fixture->db, on_closed, fixture);
    UNTIL(fixture, fixture->is_closed);
    uv_close((uv_handle_t *)&fixture->watchdog, NULL);
    (void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
    cr_assert(eq(int, uv_loop_close(&fixture->loop), 0), "a handle was left open");
    db_address_destroy(fixture->address);
    db_sync_close(fixture->admin);
}

static struct db_sync *admin(struct fixture *fixture)
{
    struct error error = {.code = 0};
    if (fixture->admin == NULL) {
        struct db_sync_config config = {.name = "admin", .statement_deadline_ms = 60000};
        fixture->admin = db_sync_open(&config, &error);
        cr_assert(ne(ptr, fixture->admin, NULL), "%s", error.text);
    }
    return fixture->admin;
}

char *fixture_admin(struct fixture *fixture, const char *sql)
{
    struct error error = {.code = 0};
    struct db_rows *rows = db_sync_query(admin(fixture), sql, NULL, 0, &error);
    cr_assert(ne(ptr, rows, NULL), "%s: %s", sql, error.text);
    char *value = NULL;
    if (db_rows_count(rows) > 0 && db_rows_text(rows, 0, 0) != NULL)
        value = strdup(db_rows_text(rows, 0, 0));
    db_rows_destroy(rows);
    return value;
}

void fixture_migrate(struct fixture *fixture)
{
    struct error error = {.code = 0};
    struct migrated migrated;
    cr_assert(migrate_apply(&(struct upgrade){.sync = admin(fixture)}, &migrated, &error), "%s",
              error.text);
}

void fixture_terminate(struct fixture *fixture, int index)
{
    char sql[128];
    snprintf(sql, sizeof sql, "select pg_terminate_backend(%d)",
             PQbackendPID(fixture->db->connections[index].conn));
    free(fixture_admin(fixture, sql));
}

static void on_answer(struct call *call, const struct db_status *status, PGresult *result)
{
    struct answer *answer = call->ctx;
    answer->count++;
    answer->outcome = status->outcome;
    answer->permanent = status->permanent;
    snprintf(answer->sqlstate, sizeof answer->sqlstate, "%s", status->sqlstate);
    snprintf(answer->text, sizeof answer->text, "%s", status->text);
    if (answer->before != NULL)
        cr_expect(eq(int, answer->before->count, 1), "answered out of order");
    if (result == NULL || PQntuples(result) == 0)
        return;
    answer->value_size = (size_t)PQgetlength(result, 0, 0);
    answer->value = strndup(PQgetvalue(result, 0, 0), answer->value_size);
}

void fixture_send(struct fixture *fixture, struct answer *answer, const char *sql,
                  const char *parameter)
{
    answer->statement = (struct statement){.sql = sql};
    fixture_send_statement(fixture, answer, &answer->statement, parameter);
}

void fixture_send_statement(struct fixture *fixture, struct answer *answer,
                            const struct statement *statement, const char *parameter)
{
    struct call *call = call_create(statement, CALL_WORK, on_answer, NULL, answer);
    if (parameter != NULL)
        params_text(&call->params, parameter);
    db_submit(fixture->db, call);
}
