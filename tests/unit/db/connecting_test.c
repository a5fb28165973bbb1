/*
 * What a connection that cannot come up is told, which of several addresses it takes, and with
 * which options of libpq, against a real PostgreSQL.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

static struct fixture fixture;

static void refused(const char *url, int code, const char *words)
{
    struct db_config config = fixture_config(&fixture);
    config.connect_timeout_s = 1;
    fixture_open(&fixture, url, config);

    UNTIL(&fixture, fixture.has_failed);

    cr_assert(eq(int, fixture.fatal.code, code), "%s", fixture.fatal.text);
    cr_assert(ne(ptr, strstr(fixture.fatal.text, words), NULL), "%s", fixture.fatal.text);
    cr_assert(eq(int, fixture.ups, 0));
    fixture_close(&fixture);
}

Test(connecting, an_unknown_database_is_refused_for_good)
{
    refused("dbname=nowhere", ERROR_CONFIG, "database \"nowhere\" does not exist");
}

Test(connecting, an_unknown_user_is_refused_for_good)
{
    refused("user=nobody", ERROR_CONFIG, "role \"nobody\" does not exist");
}

Test(connecting, a_bad_option_is_refused_for_good)
{
    refused("sslmode=sometimes", ERROR_CONFIG, "invalid sslmode value");
}

Test(connecting, a_server_that_is_not_there_is_waited_for_until_the_timeout)
{
    refused("host=/nonexistent", ERROR_UNAVAILABLE, "No such file or directory");
}

Test(connecting, a_host_name_that_is_unknown_is_named)
{
    refused("host=no.such.host.invalid", ERROR_UNAVAILABLE, "no.such.host.invalid");
}

Test(connecting, a_database_that_is_not_utf8_is_refused)
{
    free(fixture_admin(&fixture, "create database latin encoding 'LATIN1' lc_collate 'C' lc_ctype "
                                 "'C' template template0"));
    refused("dbname=latin", ERROR_CONFIG, "encoding is not UTF8");
}

/* 192.0.2.1 answers nobody (RFC 5737): only the second address works. */
Test(connecting, a_dead_address_is_passed_over)
{
    char url[256];
    snprintf(url, sizeof url, "host=192.0.2.1,%s connect_timeout=1", getenv("PGHOST"));
    struct db_config config = fixture_config(&fixture);
    fixture_open(&fixture, url, config);

    UNTIL(&fixture, fixture.ups == 1 || fixture.has_failed);

    cr_assert(not(fixture.has_failed), "%s", fixture.fatal.text);
    fixture_close(&fixture);
}

/* In the midst of an attempt libpq closes one socket and opens the next, which has the same number.
 */
Test(connecting, a_refused_address_is_passed_over_within_the_attempt)
{
    char url[256];
    snprintf(url, sizeof url, "host=127.0.0.1,%s port=1,%s", getenv("PGHOST"), getenv("PGPORT"));
    fixture_open(&fixture, url, fixture_config(&fixture));

    UNTIL(&fixture, fixture.ups == 1 || fixture.has_failed);

    cr_assert(not(fixture.has_failed), "%s", fixture.fatal.text);
    cr_assert(eq(uint, fixture.db->connections[0].rotation, 0), "it took another attempt");
    fixture_close(&fixture);
}

/* The value that libpq uses for an option, to be freed. */
static char *option_in_use(const char *keyword)
{
    PQconninfoOption *options = PQconninfo(fixture.db->connections[0].conn);
    char *value = NULL;
    for (PQconninfoOption *option = options; option->keyword != NULL; option++) {
        if (strcmp(option->keyword, keyword) == 0 && option->val != NULL)
            value = strdup(option->val);
    }
    PQconninfoFree(options);
    return value;
}

Test(connecting, a_peer_that_acknowledges_nothing_is_given_up_at_the_deadline)
{
    struct db_config config = fixture_config(&fixture);
    config.statement_deadline_ms = 12345;

    fixture_up(&fixture, config);

    char *timeout = option_in_use("tcp_user_timeout");
    cr_assert(eq(str, timeout, "12345"));
    free(timeout);
    fixture_close(&fixture);
}

Test(connecting, an_option_of_the_url_goes_before_our_own)
{
    fixture_open(&fixture, "tcp_user_timeout=777", fixture_config(&fixture));
    UNTIL(&fixture, fixture.ups == 1);

    char *timeout = option_in_use("tcp_user_timeout");
    cr_assert(eq(str, timeout, "777"));
    free(timeout);
    fixture_close(&fixture);
}
