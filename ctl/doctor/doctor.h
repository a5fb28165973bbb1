/*
 * What `pgflowctl doctor` looks at, and where its findings go. The checks that
 * are one question to the database are rows of a table (doctor_checks.c); those
 * of the connection itself are code (doctor_connection.c).
 */
#ifndef PGFLOW_CTL_DOCTOR_DOCTOR_H
#define PGFLOW_CTL_DOCTOR_DOCTOR_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct db_sync;

/* A problem stops work, or soon will. A warning may be meant. A note changes
 * nothing, and says what could not be looked at. */
enum doctor_level { DOCTOR_OK, DOCTOR_NOTE, DOCTOR_WARNING, DOCTOR_PROBLEM, DOCTOR_LEVELS };

struct doctor {
    struct db_sync *db;
    bool json, colour;
    bool all; /* print every finding, however many there are */
    size_t counts[DOCTOR_LEVELS];
};

enum { DOCTOR_INDENT = 21 /* columns before a finding */ };

const char *doctor_level_name(enum doctor_level level);

/* Prints one finding; `remedy` NULL or "": there is none. */
void doctor_report(struct doctor *doctor, const char *check, enum doctor_level level,
                   const char *finding, const char *remedy);

/* One question: rows of (level, finding, remedy), the levels by their names.
 * With no row but notes the check is fine. */
struct doctor_check {
    const char *name;
    const char *fine; /* what is said then */
    const char *sql;  /* $1, where takes_age: seconds */
    bool takes_age;
    bool needs_schema; /* asks tables and functions of pgflow */
};
extern const struct doctor_check doctor_checks[];
extern const size_t doctor_check_count;

/* Needs no schema, nor any right. */
void doctor_check_pooler(struct doctor *doctor);
void doctor_check_listen(struct doctor *doctor);
void doctor_check_clock(struct doctor *doctor);
/* Installed, ours, and of a version that fits this program. */
bool doctor_check_schema(struct doctor *doctor);

#endif
