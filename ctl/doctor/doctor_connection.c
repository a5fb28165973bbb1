/*
 * What doctor finds out about the connection itself.
 */
#include "ctl/doctor/doctor.h"

#include "base/buf.h"
#include "base/clock.h"
#include "db/migrate.h"
#include "db/sync.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOTIFY_MS = 2000 };
#define SKEW_S 2.0

/* Through a pooler the process that answers is not the one that the connection
 * was told of when it was opened. */
static bool is_pooled(struct doctor *doctor)
{
    struct error ignored;
    struct db_rows *rows = db_sync_query(doctor->db, "select pg_backend_pid()", NULL, 0, &ignored);
    bool pooled = rows != NULL &&
                  strtol(db_rows_text(rows, 0, 0), NULL, 10) != db_sync_backend_pid(doctor->db);
    db_rows_destroy(rows);
    return pooled;
}

void doctor_check_pooler(struct doctor *doctor)
{
    if (is_pooled(doctor))
        doctor_report(doctor, "pooler", DOCTOR_WARNING, "a pooler stands before this database",
                      "behind a transaction pooler start hosts with --pooled (they poll then), or "
                      "give them the address of PostgreSQL itself");
    else
        doctor_report(doctor, "pooler", DOCTOR_OK, "none in between", NULL);
}

static bool hears_itself(struct doctor *doctor, struct error *error)
{
    struct db_rows *rows = db_sync_query(doctor->db, "listen pgflow_doctor", NULL, 0, error);
    if (rows == NULL)
        return false;
    db_rows_destroy(rows);
    rows = db_sync_query(doctor->db, "select pg_notify('pgflow_doctor', '')", NULL, 0, error);
    if (rows == NULL)
        return false;
    db_rows_destroy(rows);
    return db_sync_hears(doctor->db, NOTIFY_MS) ||
           error_set(error, ERROR_CONFIG, "a notification did not arrive within %d s",
                     NOTIFY_MS / 1000);
}

void doctor_check_listen(struct doctor *doctor)
{
    struct error error;
    if (is_pooled(doctor))
        doctor_report(doctor, "listen", DOCTOR_NOTE, "not to be relied on behind a pooler", NULL);
    else if (hears_itself(doctor, &error))
        doctor_report(doctor, "listen", DOCTOR_OK, "notifications arrive", NULL);
    else
        doctor_report(doctor, "listen", DOCTOR_PROBLEM, error.text,
                      "give hosts the primary's address without anything in between, or start them "
                      "with --no-listen");
}

void doctor_check_clock(struct doctor *doctor)
{
    struct error error;
    char finding[128];
    double before = (double)clock_calendar_us() / 1e6;
    struct db_rows *rows =
        db_sync_query(doctor->db, "select extract(epoch from clock_timestamp())", NULL, 0, &error);
    double after = (double)clock_calendar_us() / 1e6;
    if (rows == NULL) {
        doctor_report(doctor, "clock", DOCTOR_PROBLEM, error.text, NULL);
        return;
    }
    double ahead = (before + after) / 2 - strtod(db_rows_text(rows, 0, 0), NULL);
    db_rows_destroy(rows);
    if (fabs(ahead) > SKEW_S + (after - before)) {
        (void)snprintf(finding, sizeof finding, "the clock here is %.0f s %s the database's",
                       fabs(ahead), ahead > 0 ? "ahead of" : "behind");
        doctor_report(doctor, "clock", DOCTOR_WARNING, finding,
                      "let both machines keep time by NTP; the database's clock decides, so log "
                      "times will not match its tables");
        return;
    }
    doctor_report(doctor, "clock", DOCTOR_OK, "that of the database", NULL);
}

static bool read_versions(struct doctor *doctor, int versions[2], struct error *error)
{
    struct db_rows *rows = db_sync_query(
        doctor->db, "select version, oldest_host from pgflow.schema_version()", NULL, 0, error);
    const char *sqlstate = db_sync_sqlstate(doctor->db);
    bool missing = strcmp(sqlstate, "3F000") == 0 || strcmp(sqlstate, "42883") == 0 ||
                   strcmp(sqlstate, "42P01") == 0;
    for (int i = 0; i < 2; i++) {
        const char *text =
            rows != NULL && db_rows_count(rows) == 1 ? db_rows_text(rows, 0, (size_t)i) : NULL;
        versions[i] = text != NULL ? (int)strtol(text, NULL, 10) : 0;
    }
    db_rows_destroy(rows);
    return rows != NULL || missing;
}

/* A schema pgflow of somebody else has no version to read. */
static bool is_foreign(struct doctor *doctor)
{
    struct error ignored;
    struct db_rows *rows = db_sync_query(
        doctor->db, "select 1 from pg_namespace where nspname = 'pgflow'", NULL, 0, &ignored);
    bool there = rows != NULL && db_rows_count(rows) > 0;
    db_rows_destroy(rows);
    return there;
}

bool doctor_check_schema(struct doctor *doctor)
{
    struct error error;
    char finding[64];
    int versions[2] = {0, 0};
    if (!read_versions(doctor, versions, &error)) {
        doctor_report(doctor, "schema", DOCTOR_PROBLEM, error.text,
                      "log in as a member of the role pgflow_operator, or as the owner");
        return false;
    }
    if (versions[0] == 0 && is_foreign(doctor)) {
        doctor_report(doctor, "schema", DOCTOR_PROBLEM,
                      "the schema pgflow was not made by pgflow-host",
                      "give pgflow-host a database without it");
        return false;
    }
    if (!migrate_judge(versions[0], versions[1], &error)) {
        doctor_report(doctor, "schema", DOCTOR_PROBLEM, error.text,
                      versions[0] < migrate_own_version() ? "pgflowctl migrate"
                                                          : "install a newer pgflow-host");
        return false;
    }
    (void)snprintf(finding, sizeof finding, "version %d", versions[0]);
    doctor_report(doctor, "schema", DOCTOR_OK, finding, NULL);
    return true;
}
