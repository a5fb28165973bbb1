/*
 * What mends a connection that does not come about, by the words of libpq and the server.
 */
#ifndef PGFLOW_DB_CONNECTION_REMEDY_H
#define PGFLOW_DB_CONNECTION_REMEDY_H

/* A sentence without a full stop; NULL: the words are not known. */
const char *connection_remedy(const char *said);

#endif
