/*
 * Typed values out of a PGresult.
 */
#include "db/result.h"

#include <stdlib.h>
#include <string.h>

bool result_columns(const PGresult *result, const char *const *names, int *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        columns[i] = PQfnumber(result, names[i]);
        if (columns[i] < 0)
            return false;
    }
    return true;
}

const char *result_text(const PGresult *result, int row, int column)
{
    return PQgetisnull(result, row, column) ? NULL : PQgetvalue(result, row, column);
}

int64_t result_int64(const PGresult *result, int row, int column, int64_t none)
{
    const char *text = result_text(result, row, column);
    return text != NULL ? strtoll(text, NULL, 10) : none;
}

int result_int(const PGresult *result, int row, int column, int none)
{
    return (int)result_int64(result, row, column, none);
}

bool result_bool(const PGresult *result, int row, int column)
{
    const char *text = result_text(result, row, column);
    return text != NULL && *text == 't';
}

/* One element of an array's text form, unescaped into `out`; returns what
 * follows it. Sets `is_null`. */
static const char *read_element(const char *from, char **out, bool *is_null)
{
    bool quoted = *from == '"';
    const char *start = *out;
    from += quoted;
    while (*from && (quoted ? *from != '"' : *from != ',' && *from != '}')) {
        if (*from == '\\' && from[1])
            from++;
        *(*out)++ = *from++;
    }
    *(*out)++ = '\0';
    *is_null = !quoted && strcmp(start, "NULL") == 0;
    return from + (quoted && *from == '"');
}

bool result_texts(const PGresult *result, int row, int column, struct db_texts *texts)
{
    const char *from = result_text(result, row, column);
    *texts = (struct db_texts){NULL, 0};
    if (from == NULL || from[0] != '{' || from[1] == '}')
        return true;
    /* At most one element a comma and one besides; the bytes fit what they were
     * read from, with a NUL for each separator. */
    size_t most = 1;
    for (const char *c = from; *c; c++)
        most += *c == ',';
    char **items = malloc(most * sizeof(char *) + strlen(from) + 1);
    if (items == NULL)
        return false;
    char *out = (char *)(items + most);
    size_t count = 0;
    for (from++; *from && *from != '}'; from++) {
        bool is_null = false;
        items[count] = out;
        from = read_element(from, &out, &is_null);
        count += !is_null;
        /* Not as PostgreSQL prints it: `{""x}` has more elements than commas. */
        if (*from != ',')
            break;
    }
    *texts = (struct db_texts){(const char *const *)items, count};
    return true;
}

void result_texts_free(struct db_texts *texts)
{
    free((void *)texts->items);
    *texts = (struct db_texts){NULL, 0};
}

int result_word(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; word != NULL && i < count; i++) {
        if (strcmp(word, words[i]) == 0)
            return (int)i;
    }
    return -1;
}

struct db_status result_mismatch(const struct db_status *status)
{
    return (struct db_status){
        .outcome = DB_ERROR,
        .permanent = true,
        .sqlstate = "XX000",
        .text = "the schema pgflow answers in another form than this program knows; bring both to "
                "the same version (pgflowctl migrate)",
        .elapsed_ns = status->elapsed_ns,
    };
}

struct db_status result_no_memory(const struct db_status *status)
{
    return (struct db_status){
        .outcome = DB_ERROR,
        .permanent = true,
        .sqlstate = "53200",
        .text = "there is no memory for the answer of the database",
        .elapsed_ns = status->elapsed_ns,
    };
}
