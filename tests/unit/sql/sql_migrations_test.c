/* The schema that is compiled in: the very bytes of the assembled files. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/sql_migrations.h"

Test(sql_schema, has_numbers_that_fit_each_other)
{
    cr_expect_gt(sql_schema.base, 0);
    cr_expect_lt(sql_schema.base, sql_schema.version);
    cr_expect_leq(sql_schema.oldest_host, sql_schema.version);
    cr_expect_gt(sql_schema.oldest_host, 0);
    cr_expect(sql_schema.name[0] != '\0');
}

static void expect_bytes_of_file(const struct sql_text *text)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", SQL_FOLDER, text->name);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "cannot open %s", path);
    char *bytes = malloc(text->size + 1);
    cr_assert_not_null(bytes);

    size_t size = fread(bytes, 1, text->size + 1, file);
    fclose(file);

    cr_expect_eq(strlen(text->text), text->size);
    cr_expect_eq(size, text->size);
    cr_expect_eq(memcmp(bytes, text->text, text->size), 0);
    free(bytes);
}

Test(sql_schema, is_made_of_the_bytes_of_the_assembled_files)
{
    expect_bytes_of_file(&sql_schema.fresh);
    expect_bytes_of_file(&sql_schema.flip);
    expect_bytes_of_file(&sql_schema.unflip);
}

Test(sql_schema, lists_its_files_with_their_lengths)
{
    const struct sql_text *lists[] = {sql_schema.expand, sql_schema.contract, sql_schema.in_use,
                                      sql_schema.down};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (const struct sql_text *file = lists[i]; file->name; file++)
            cr_expect_eq(strlen(file->text), file->size, "%s", file->name);
    }
    cr_expect_not_null(sql_schema.expand[0].name);
}
