/*
 * What an SQLSTATE means for the host. Pure functions.
 */
#ifndef PGFLOW_DB_SQLSTATE_H
#define PGFLOW_DB_SQLSTATE_H

#include <stdbool.h>
#include <stddef.h>

/* Trying again cannot help: all but class 08 (connection), 40 (rollback), 53
 * (resources), 55 (object state), 57 (intervention), 58 (system), and 25006
 * (read-only server: another one is writable). */
bool sqlstate_is_permanent(const char *sqlstate);

/* The transaction lost a race and may run again at once: 40001, 40P01. */
bool sqlstate_is_race(const char *sqlstate);

/* The named statement is the problem, an unnamed one works: a cached plan whose
 * result changed (0A000), a statement that a pooler does not know (26000) or
 * knows already (42P05). */
bool sqlstate_is_stale_statement(const char *sqlstate);

bool sqlstate_is_read_only(const char *sqlstate);

/* From libpq's verbose text of a failed connection attempt ("FATAL:  28P01:
 * …"), the last SQLSTATE in it. False: there is none. */
bool sqlstate_find(const char *text, char sqlstate[6]);

/* A refusal to connect that stays one: authentication (28), unknown database
 * (3D000), no right to connect (42501). */
bool sqlstate_refuses_for_good(const char *sqlstate);

/* libpq's text made one line for people: without LOCATION lines, severities and
 * SQLSTATEs. */
void sqlstate_describe(char *out, size_t size, const char *text);

#endif
