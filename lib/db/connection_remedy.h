/*
 * What mends a connection that does not come about, by the words of libpq and the server.
 */
#ifndef PGFLOW_DB_CONNECTION_REMEDY_H
#define PGFLOW_DB_CONNECTION_REMEDY_H

/* `said`: a message of theirs, without anything of ours. Names in double quotes tell nothing: a
 * role may be called "certificate". A sentence without a full stop; NULL: the words are not known.
 */
const char *connection_remedy(const char *said);

/* The one that an error of ours ends with, as those of db_open do where it is known; or NULL. */
const char *connection_remedy_at_end(const char *text);

#endif
