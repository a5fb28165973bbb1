/*
 * Which libpq is loaded, for --version.
 */
#include "db/db.h"

#include <libpq-fe.h>
#include <stdio.h>

void db_client_version(char *text, size_t size)
{
    int version = PQlibVersion();

    (void)snprintf(text, size, "%d.%d", version / 10000, version % 10000);
}
