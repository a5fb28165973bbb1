/*
 * pgflowctl doctor: looks at everything that has stopped an installation before,
 * and says for each finding what to do. Changes nothing. For people, and for the
 * gate of a deployment by its exit status.
 */
#include "ctl/command.h"
#include "ctl/doctor/doctor.h"
#include "ctl/plain.h"
#include "ctl/table.h"

#include "base/buf.h"
#include "db/connection_remedy.h"
#include "db/sync.h"

#include <stdio.h>
#include <string.h>

enum { ALIKE = 5 /* findings of a check and level that are shown */ };

static enum doctor_level level_of(const char *name)
{
    for (size_t i = 0; i < DOCTOR_LEVELS; i++) {
        if (name != NULL && strcmp(name, doctor_level_name((enum doctor_level)i)) == 0)
            return (enum doctor_level)i;
    }
    return DOCTOR_PROBLEM;
}

static void run_check(struct doctor *doctor, const struct doctor_check *check, const char *age)
{
    struct error error;
    bool fine = true;
    struct db_rows *rows =
        db_sync_query(doctor->db, check->sql, &age, check->takes_age ? 1 : 0, &error);
    if (rows == NULL) {
        bool rights = strcmp(db_sync_sqlstate(doctor->db), "42501") == 0;
        doctor_report(doctor, check->name, DOCTOR_PROBLEM, error.text,
                      rights ? "log in as a member of the role pgflow_operator, or as the owner"
                             : NULL);
        return;
    }
    size_t shown[DOCTOR_LEVELS] = {0};
    for (size_t i = 0; i < db_rows_count(rows); i++) {
        enum doctor_level level = level_of(db_rows_text(rows, i, 0));
        fine = fine && level == DOCTOR_NOTE;
        if (shown[level]++ < ALIKE || doctor->all || doctor->json)
            doctor_report(doctor, check->name, level, db_rows_text(rows, i, 1),
                          db_rows_text(rows, i, 2));
        else
            doctor->counts[level]++;
    }
    for (size_t level = 0; level < DOCTOR_LEVELS && !doctor->all && !doctor->json; level++)
        if (shown[level] > ALIKE)
            printf("%*s... and %zu more of %s; pgflowctl doctor --all shows them\n", DOCTOR_INDENT,
                   "", shown[level] - ALIKE, check->name);
    if (fine)
        doctor_report(doctor, check->name, DOCTOR_OK, check->fine, NULL);
    db_rows_destroy(rows);
}

/* The remedy at the end of the error goes on a line of its own. */
static void report_unreachable(struct doctor *doctor, const struct error *why)
{
    struct error finding = *why;
    const char *remedy = connection_remedy_at_end(why->text);
    if (remedy != NULL)
        finding.text[strlen(finding.text) - strlen(remedy) - strlen("; ")] = '\0';
    else if (why->code == ERROR_UNAVAILABLE)
        remedy = "start PostgreSQL, or name another one: --database, PGFLOW_DATABASE, DATABASE_URL "
                 "or PG*";
    else
        remedy = "name a database that takes this user: --database, PGFLOW_DATABASE, DATABASE_URL "
                 "or PG*";
    doctor_report(doctor, "connection", DOCTOR_PROBLEM, finding.text, remedy);
}

static void report_connection(struct doctor *doctor)
{
    struct error ignored;
    char finding[512];
    struct db_rows *rows = db_sync_query(doctor->db, "show server_version", NULL, 0, &ignored);
    (void)snprintf(finding, sizeof finding, "%s, PostgreSQL %s", db_sync_label(doctor->db),
                   rows != NULL ? db_rows_text(rows, 0, 0) : "?");
    db_rows_destroy(rows);
    doctor_report(doctor, "connection", DOCTOR_OK, finding, NULL);
}

static void run_checks(struct doctor *doctor, const char *age)
{
    report_connection(doctor);
    doctor_check_pooler(doctor);
    doctor_check_listen(doctor);
    doctor_check_clock(doctor);
    bool schema = doctor_check_schema(doctor);
    for (size_t i = 0; i < doctor_check_count; i++) {
        if (schema || !doctor_checks[i].needs_schema)
            run_check(doctor, &doctor_checks[i], age);
    }
}

static void print_verdict(const struct doctor *doctor)
{
    size_t problems = doctor->counts[DOCTOR_PROBLEM];
    size_t warnings = doctor->counts[DOCTOR_WARNING];
    if (doctor->json)
        printf("]\n");
    else if (problems + warnings == 0)
        printf("\nall is well\n");
    else
        printf("\n%zu problem%s, %zu warning%s\n", problems, problems == 1 ? "" : "s", warnings,
               warnings == 1 ? "" : "s");
}

static int execute(struct invocation *invocation, struct error *error)
{
    struct doctor doctor = {.db = invocation->db,
                            .json = invocation->json,
                            .all = invocation_value(invocation, "all") != NULL,
                            .colour = table_width() > 0 && table_colour()};
    char age[16];
    int seconds = 0;
    bool strict = invocation_value(invocation, "strict") != NULL;
    if (!invocation_number(invocation, "transaction-age", 0, 864000, 300, &seconds, error))
        return FAILED;
    (void)snprintf(age, sizeof age, "%d", seconds);
    if (doctor.db != NULL)
        run_checks(&doctor, age);
    else
        report_unreachable(&doctor, &invocation->unreachable);
    print_verdict(&doctor);
    bool sick = doctor.counts[DOCTOR_PROBLEM] > 0 || (strict && doctor.counts[DOCTOR_WARNING] > 0);
    return sick ? ERROR_ANSWER_NO : DONE;
}

const struct command command_doctor = {
    .name = "doctor",
    .arguments = "",
    .summary = "find what stops work, and say what to do",
    .help = "Checks the connection, pooler, LISTEN, clocks, schema and version, server, roles,\n"
            "queues, what blocks vacuum, paused functions, missing workers and stuck work. Exit\n"
            "1 if there is a problem. A warning may be meant; a note says what could not be\n"
            "checked. It changes nothing, so you can run it before every deployment. Of many\n"
            "similar findings it shows five.\n",
    .needs_database = true,
    .runs_without_one = true,
    .examples = "pgflowctl doctor\n"
                "pgflowctl doctor --strict && ./deploy\n",
    .run = execute,
    .options = {{"strict", NULL, "exit 1 with a warning, too"},
                {"all", NULL, "every finding, however many are alike; --json has them all"},
                {"transaction-age", "S",
                 "report transactions open for longer than S seconds (default: 300)"}},
};
