#include "db/connection_remedy.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

#define SOCKET "connection to server on socket \"/run/.s.PGSQL.5432\" failed: FATAL:  "

/* What libpq says, as PostgreSQL 15 has it, and a word of what must be done. */
static const struct {
    const char *said, *word;
} samples[] = {
    {SOCKET "no pg_hba.conf entry for host \"[local]\", user \"u\", database \"d\", no encryption",
     "has no line for this user"},
    {SOCKET "pg_hba.conf rejects connection for host \"[local]\", user \"u\", database \"d\", no "
            "encryption",
     "rejects this user"},
    {SOCKET "password authentication failed for user \"certificate_user\"",
     "correct user and password"},
    {SOCKET "permission denied for database \"SSL\"", "grant connect"},
    {SOCKET "role \"u\" is not permitted to log in", "alter role ... login"},
    {SOCKET "too many connections for role \"u\"", "connection limit"},
    {SOCKET "sorry, too many clients already", "max_connections"},
    {SOCKET "the database system is starting up", "has recovered"},
    {"connection to server at \"h\" (127.0.0.1), port 5432 failed: server does not support SSL, "
     "but SSL "
     "was required",
     "ssl = off"},
    {"connection to server at \"h\" (127.0.0.1), port 5432 failed: root certificate file "
     "\"/root/.postgresql/root.crt\" does not exist",
     "sslrootcert=FILE"},
    {"invalid sslmode value: \"often\"", "sslmode is disable"},
};

Test(remedy, each_refusal_has_its_own)
{
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        const char *remedy = connection_remedy(samples[i].said);
        cr_assert(ne(ptr, (void *)remedy, NULL), "%s", samples[i].said);
        cr_assert(strstr(remedy, samples[i].word) != NULL, "%s -> %s", samples[i].said, remedy);
    }
}

Test(remedy, names_tell_nothing)
{
    cr_assert(
        eq(ptr, (void *)connection_remedy(SOCKET "role \"certificate SSL\" does not exist"), NULL));
    cr_assert(eq(ptr, (void *)connection_remedy(""), NULL));
}

Test(remedy, is_found_at_the_end_of_an_error_alone)
{
    const char *remedy = connection_remedy(samples[0].said);
    char text[1024];

    (void)snprintf(text, sizeof text, "database d: refused; %s", remedy);
    cr_assert(eq(ptr, (void *)connection_remedy_at_end(text), (void *)remedy));
    cr_assert(eq(ptr, (void *)connection_remedy_at_end(samples[0].said), NULL));
}
