/*
 * libpq's service files name the server that a password goes to: one that others can change is
 * refused, as a configuration file is.
 */
#ifndef PGFLOW_DB_SERVICE_FILE_H
#define PGFLOW_DB_SERVICE_FILE_H

#include "base/error.h"

/* `service` of the URL, or NULL. Without it and without PGSERVICE no such file is read. */
bool service_file_check(const char *service, struct error *error) MUST_CHECK;

#endif
