/*
 * Which database: a URL or keyword string, what PG* variables and the service
 * file add, and the names in it resolved to addresses. Holds credentials; its
 * label is what logs may show.
 */
#ifndef PGFLOW_DB_ADDRESS_H
#define PGFLOW_DB_ADDRESS_H

#include "base/error.h"

struct db_address;

/* `url` NULL or "": PG* alone. Reads the environment now and never again, so
 * the caller may wipe it afterwards. NULL with ERROR_USAGE when libpq cannot
 * read it; the error never shows any part of it. */
struct db_address *db_address_create(const char *url, struct error *error) MUST_CHECK;

/* Overwrites the credentials, then frees. Takes NULL. */
void db_address_destroy(struct db_address *address);

/* "db.example:5432/app as worker": host, port, database, user; no password.
 * Borrowed from the address. */
const char *db_address_label(const struct db_address *address);

/* --database, else PGFLOW_DATABASE, else `configured` (the config file), else
 * DATABASE_URL, else NULL: PG* alone. `option` and `configured` may be NULL. */
const char *db_address_choose(const char *option, const char *configured);

#endif
