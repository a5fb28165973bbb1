#include "db/address.h"
#include "db/address_parts.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct error error;

static void forget_environment(void)
{
    static const char *const names[] = {"PGHOST",     "PGPORT",        "PGUSER",
                                        "PGDATABASE", "PGPASSWORD",    "DATABASE_URL",
                                        "PGSERVICE",  "PGSERVICEFILE", "PGFLOW_DATABASE"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unsetenv(names[i]);
}

TestSuite(address, .init = forget_environment);

Test(address, label_shows_everything_but_the_password)
{
    struct db_address *address =
        db_address_create("postgres://ann:s3cret@db.example:6432/app", &error);

    cr_assert(eq(str, (char *)db_address_label(address), "db.example:6432/app as ann"));
    cr_assert(eq(str, (char *)db_address_value(address, "password"), "s3cret"));
    db_address_destroy(address);
}

Test(address, no_part_of_an_unreadable_url_is_shown)
{
    static const char *const urls[] = {
        "postgres://ann:s3cret@word@db/app",
        "mysql://ann:s3cret@db/app",
        "postgres://ann:s3cret%zz@db/app",
        "host=db password='s3cret",
        "postgres://ann@db/app?s3cret=1",
        "s3cret",
        "postgres://ann:s3cret/word@db/app",
        "postgres://ann:12/s3cret@db/app",
        "host=db port=s3cret",
    };
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        error_clear(&error);

        struct db_address *address = db_address_create(urls[i], &error);

        cr_expect(eq(ptr, address, NULL), "%s", urls[i]);
        cr_expect(eq(int, error.code, ERROR_USAGE), "%s", urls[i]);
        cr_expect(eq(ptr, strstr(error.text, "s3cret"), NULL), "%s", error.text);
    }
}

Test(address, url_goes_before_environment)
{
    (void)setenv("PGHOST", "other", 1);
    (void)setenv("PGUSER", "ann", 1);

    struct db_address *address = db_address_create("postgres://db/app", &error);

    cr_assert(eq(str, (char *)db_address_label(address), "db:5432/app as ann"));
    db_address_destroy(address);
}

Test(address, environment_may_be_wiped_afterwards)
{
    (void)setenv("PGPASSWORD", "s3cret", 1);

    struct db_address *address = db_address_create(NULL, &error);
    (void)unsetenv("PGPASSWORD");

    cr_assert(eq(str, (char *)db_address_value(address, "password"), "s3cret"));
    db_address_destroy(address);
}

Test(address, a_service_in_the_url_is_looked_up)
{
    char path[] = "/tmp/pgflow-service-XXXXXX";
    int fd = mkstemp(path);
    static const char text[] = "[prod]\nhost=db.example\nport=7000\ndbname=app\nuser=ann\n";
    cr_assert(eq(sz, (size_t)write(fd, text, sizeof text - 1), sizeof text - 1));
    (void)setenv("PGSERVICEFILE", path, 1);

    struct db_address *address = db_address_create("service=prod", &error);

    cr_assert(eq(str, (char *)db_address_label(address), "db.example:7000/app as ann"));
    db_address_destroy(address);
    (void)unlink(path);
    (void)close(fd);
}

Test(address, places_are_tried_in_order)
{
    cr_assert(eq(ptr, (void *)db_address_choose(NULL, NULL), NULL));
    (void)setenv("DATABASE_URL", "fourth", 1);
    cr_assert(eq(str, (char *)db_address_choose(NULL, NULL), "fourth"));
    cr_assert(eq(str, (char *)db_address_choose(NULL, "third"), "third"));
    (void)setenv("PGFLOW_DATABASE", "second", 1);
    cr_assert(eq(str, (char *)db_address_choose(NULL, "third"), "second"));
    cr_assert(eq(str, (char *)db_address_choose("first", "third"), "first"));
}

Test(address, splits_lists_with_empty_parts)
{
    size_t count = 0;

    char **parts = db_address_split("a,,c", &count);

    cr_assert(eq(sz, count, 3));
    cr_assert(eq(str, parts[0], "a"));
    cr_assert(eq(str, parts[1], ""));
    cr_assert(eq(str, parts[2], "c"));
    db_address_free_parts(parts, count);
}
