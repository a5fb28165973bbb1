#include "db/connection_remedy.h"

#include <stddef.h>
#include <string.h>

#define ADDRESS "--database, PGFLOW_DATABASE, DATABASE_URL or PG*"

/* The first that fits. */
static const struct {
    const char *said, *remedy;
} remedies[] = {
    {"does not support SSL", "the server has ssl = off: turn it on there, or lower sslmode in the "
                             "address (prefer, disable)"},
    {"no encryption",
     "pg_hba.conf wants an encrypted connection: sslmode=require in the address, or "
     "a line for this user there"},
    {"no pg_hba.conf entry",
     "pg_hba.conf has no line for this user, database and client: add one and reload the server, "
     "or correct the address (" ADDRESS ")"},
    {"root certificate",
     "give the certificate of the authority: sslrootcert=FILE in the address, or "
     "~/.postgresql/root.crt"},
    {"certificate",
     "the server runs; compare its certificate (ssl_cert_file: name, authority, date) "
     "with sslmode, sslrootcert, sslcert and the host in the address"},
    {"SSL", "the server runs; compare sslmode and the ssl options of the address with its own"},
    {"sslmode", "sslmode is disable, allow, prefer, require, verify-ca or verify-full"},
    {"permission denied for database",
     "as the owner of the database: grant connect on database ... to this user"},
    {"password authentication failed", "correct user and password in the address (" ADDRESS ")"},
    {"no password supplied",
     "the server asks for a password: put it into the address, PGPASSWORD or ~/.pgpass"},
    {"authentication failed for user",
     "the server takes another login: correct the user in the address (" ADDRESS
     "), or the method in pg_hba.conf"},
    {"is not permitted to log in", "as a superuser: alter role ... login"},
    {"too many connections for",
     "end other sessions, or raise the connection limit of the role or database"},
    {"too many clients", "end other sessions, or raise max_connections of the server"},
    {"connection slots are reserved", "end other sessions, or raise max_connections of the server"},
    {"could not translate host name", "correct the host in the address: " ADDRESS},
};

const char *connection_remedy(const char *said)
{
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++)
        if (strstr(said, remedies[i].said) != NULL)
            return remedies[i].remedy;
    return NULL;
}
