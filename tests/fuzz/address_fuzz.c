/*
 * The database URL: neither the label that logs show nor an error text holds
 * the password.
 */
#include "fuzz.h"

#include "db/address.h"

#include <ctype.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

static const char *value_of(const PQconninfoOption *options, const char *keyword)
{
    for (; options && options->keyword; options++)
        if (strcmp(options->keyword, keyword) == 0)
            return options->val ? options->val : "";
    return "";
}

/* Only where it can be told apart from what is shown. */
static bool is_distinct(const PQconninfoOption *options, const char *password)
{
    static const char *const shown[] = {"host", "hostaddr", "port", "dbname", "user"};
    if (strlen(password) < 4 || strstr("local socket", password))
        return false;
    for (const char *c = password; *c; c++)
        if (!isalnum((unsigned char)*c))
            return false;
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        if (strstr(value_of(options, shown[i]), password))
            return false;
    return true;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    clearenv();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct error error = {0}, refused = {0};
    const char *url = fuzz_rest(&input);
    char *message = NULL;
    PQconninfoOption *options = PQconninfoParse(url, &message);
    const char *password = value_of(options, "password");
    struct db_address *address = db_address_create(url, &error);
    (void)db_address_create("postgres://%", &refused);

    if (address && *url && is_distinct(options, password))
        FUZZ_CHECK(strstr(db_address_label(address), password) == NULL);
    /* Refused: the same words whatever was given. */
    if (!address && options == NULL)
        FUZZ_CHECK(error.code == ERROR_USAGE && strcmp(error.text, refused.text) == 0);
    db_address_destroy(address);
    PQfreemem(message);
    PQconninfoFree(options);
    fuzz_free_all();
    return 0;
}
