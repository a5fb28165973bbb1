/* The migrations that are compiled in: in order, and the very bytes of the files. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/sql_migrations.h"

Test(sql_migrations, are_numbered_from_one_without_gaps)
{
    cr_assert_gt(sql_migrations_count, 0);
    for (size_t i = 0; i < sql_migrations_count; i++) {
        cr_expect_eq(sql_migrations[i].version, (int)i + 1);
        cr_expect_leq(sql_migrations[i].oldest_host, sql_migrations[i].version);
        cr_expect_gt(sql_migrations[i].oldest_host, 0);
        cr_expect(sql_migrations[i].name[0] != '\0');
    }
}

Test(sql_migrations, have_the_length_they_say)
{
    for (size_t i = 0; i < sql_migrations_count; i++)
        cr_expect_eq(strlen(sql_migrations[i].text), sql_migrations[i].len);
}

Test(sql_migrations, are_the_bytes_of_the_assembled_file)
{
    FILE *file = fopen(MIGRATION_FILE, "rb");
    cr_assert_not_null(file, "cannot open %s", MIGRATION_FILE);
    char *bytes = malloc(sql_migrations[0].len + 1);
    cr_assert_not_null(bytes);

    size_t len = fread(bytes, 1, sql_migrations[0].len + 1, file);
    fclose(file);

    cr_expect_eq(len, sql_migrations[0].len);
    cr_expect_eq(memcmp(bytes, sql_migrations[0].text, sql_migrations[0].len), 0);
    free(bytes);
}
