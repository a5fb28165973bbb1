/*
 * A db on a loop, what its owner was told, and a second connection from which
 * a test does what an operator does.
 */
#ifndef TESTS_UNIT_DB_FIXTURE_H
#define TESTS_UNIT_DB_FIXTURE_H

#include "db/address.h"
#include "db/calls.h"
#include "db/db_private.h"
#include "db/sync.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

struct fixture {
    uv_loop_t loop;
    uv_timer_t watchdog;
    uint64_t late_at;
    bool is_late;
    struct db_address *address;
    struct db *db;
    struct db_sync *admin;
    int ups, downs, notifications;
    char reason[512];
    bool has_failed, is_closed;
    struct error fatal;
};

/* The config that tests start from: one connection, the cluster of PG*. */
struct db_config fixture_config(struct fixture *fixture);

/* Opens without waiting. `url` NULL: PG*. */
void fixture_open(struct fixture *fixture, const char *url, struct db_config config);
/* Opens and waits for on_up. */
void fixture_up(struct fixture *fixture, struct db_config config);
void fixture_close(struct fixture *fixture);

/* Runs the loop until the condition holds; 30 s without it fail the test. */
#define UNTIL(fixture, condition)                                                                  \
    do {                                                                                           \
        fixture_watch(fixture);                                                                    \
        while (!(condition) && !(fixture)->is_late)                                                \
            (void)uv_run(&(fixture)->loop, UV_RUN_ONCE);                                           \
        cr_assert(condition, "never came: " #condition);                                           \
    } while (0)
void fixture_watch(struct fixture *fixture);

/* One statement as the operator; its single value, to be freed, or NULL. */
char *fixture_admin(struct fixture *fixture, const char *sql);
/* Applies the migrations. */
void fixture_migrate(struct fixture *fixture);

/* Ends the backend of connection `index`. */
void fixture_terminate(struct fixture *fixture, int index);

/* A raw statement on the db, with what became of it. */
struct answer {
    struct statement statement;
    int count; /* answers: must end at 1 */
    enum db_outcome outcome;
    bool permanent;
    char sqlstate[6];
    char text[512];
    char *value; /* of the first cell; NULL: none */
    size_t value_size;
    struct answer *before; /* must have been answered when this one is */
};
void fixture_send(struct fixture *fixture, struct answer *answer, const char *sql,
                  const char *parameter);
void fixture_send_statement(struct fixture *fixture, struct answer *answer,
                            const struct statement *statement, const char *parameter);

#endif
