#include "db/connection_remedy.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define ADDRESS "--database, PGFLOW_DATABASE, DATABASE_URL or PG*"

/* The first that fits. */
static const struct {
    const char *said, *remedy;
} remedies[] = {
    {"no pg_hba.conf entry",
     "pg_hba.conf has no line for this user, database and client: add one and reload the server; "
     "or, "
     "where its lines ask for encryption, connect with sslmode=require; or correct the address "
     "(" ADDRESS ")"},
    {"pg_hba.conf rejects connection", "a line of pg_hba.conf rejects this user, database and "
                                       "client: change it and reload the server; "
                                       "or, where other lines ask for encryption, connect with "
                                       "sslmode=require; or correct the address "
                                       "(" ADDRESS ")"},
    {"permission denied for database",
     "as the owner of the database: grant connect on database ... to this user"},
    {"password authentication failed", "correct user and password in the address (" ADDRESS ")"},
    {"no password supplied",
     "the server asks for a password: put it into the address, PGPASSWORD or ~/.pgpass"},
    {"authentication failed for user",
     "the server takes another login: correct the user in the address (" ADDRESS
     "), or the method in pg_hba.conf"},
    {"is not permitted to log in", "as a superuser: alter role ... login"},
    {"does not support SSL", "the server has ssl = off: turn it on there, or lower sslmode in the "
                             "address (prefer, disable)"},
    {"root certificate",
     "give the certificate of the authority: sslrootcert=FILE in the address, or "
     "~/.postgresql/root.crt"},
    {"certificate",
     "the server runs; compare its certificate (ssl_cert_file: name, authority, date) "
     "with sslmode, sslrootcert, sslcert and the host in the address"},
    {"SSL", "the server runs; compare sslmode and the ssl options of the address with its own"},
    {"sslmode", "sslmode is disable, allow, prefer, require, verify-ca or verify-full"},
    {"too many connections for",
     "end other sessions, or raise the connection limit of the role or database"},
    {"too many clients", "end other sessions, or raise max_connections of the server"},
    {"connection slots are reserved", "end other sessions, or raise max_connections of the server"},
    {"system is starting up", "wait until the server has recovered: its log says how far it is"},
    {"could not translate host name", "correct the host in the address: " ADDRESS},
};

enum { SAID_MAX = 1024 };

/* Copies what stands outside of double quotes. */
static void drop_names(char *out, size_t size, const char *said)
{
    bool in_name = false;
    size_t length = 0;

    for (; *said != '\0' && length + 1 < size; said++) {
        if (*said == '"')
            in_name = !in_name;
        else if (!in_name)
            out[length++] = *said;
    }
    out[length] = '\0';
}

const char *connection_remedy(const char *said)
{
    char words[SAID_MAX];

    drop_names(words, sizeof words, said);
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++)
        if (strstr(words, remedies[i].said) != NULL)
            return remedies[i].remedy;
    return NULL;
}

const char *connection_remedy_at_end(const char *text)
{
    size_t size = strlen(text);

    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++) {
        size_t length = strlen(remedies[i].remedy);
        if (size >= length && strcmp(text + size - length, remedies[i].remedy) == 0)
            return remedies[i].remedy;
    }
    return NULL;
}
