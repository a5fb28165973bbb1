/*
 * Reading a database URL with everything libpq would add to it, once, so that
 * the environment can be wiped and names can be resolved without blocking.
 */
#include "db/address.h"

#include "base/buf.h"
#include "db/address_parts.h"
#include "db/service_file.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

static const char *option_value(const PQconninfoOption *options, const char *keyword)
{
    for (; options != NULL && options->keyword != NULL; options++) {
        if (strcmp(options->keyword, keyword) == 0)
            return options->val != NULL && *options->val ? options->val : NULL;
    }
    return NULL;
}

/* postgres://u:p@ss@host: libpq would take "ss@host" for the host and show it. */
static bool has_raw_at_sign(const char *url)
{
    const char *authority = strstr(url, "://");
    if (authority == NULL)
        return false;
    authority += strlen("://");
    size_t size = strcspn(authority, "/?#");
    const char *first = memchr(authority, '@', size);
    return first != NULL && memchr(first + 1, '@', size - (size_t)(first + 1 - authority)) != NULL;
}

/* postgres://u:p/ss@host: libpq would take "u" for the host, "p" for the port and the rest for the
 * database, and all three are shown. */
static bool has_raw_slash(const char *url)
{
    const char *authority = strstr(url, "://");
    if (authority == NULL)
        return false;
    authority += strlen("://");
    const char *path = authority + strcspn(authority, "/?");
    return memchr(path, '@', strcspn(path, "?")) != NULL;
}

/* What is no number there is the beginning of something else, and would be shown. */
static bool has_odd_port(const PQconninfoOption *given)
{
    const char *port = option_value(given, "port");
    return port != NULL && port[strspn(port, "0123456789,")] != '\0';
}

/* libpq's own text quotes the URL, password and all, so it is never shown. */
static PQconninfoOption *parse_url(const char *url, struct error *error)
{
    char *message = NULL;
    PQconninfoOption *given = NULL;
    if (!has_raw_at_sign(url) && !has_raw_slash(url))
        given = PQconninfoParse(url, &message);
    PQfreemem(message);
    if (given != NULL && has_odd_port(given)) {
        PQconninfoFree(given);
        given = NULL;
    }
    if (given == NULL)
        (void)error_set(
            error, ERROR_USAGE,
            "the database URL cannot be read (it is not shown, it may hold a password); "
            "write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with @ : / ? %% and # in its "
            "parts as %%40 %%3A %%2F %%3F %%25 %%23");
    return given;
}

/* PQconndefaults reads the service file only for PGSERVICE, so a service named
 * in the URL is put there for the time of the call. Before any thread starts. */
static PQconninfoOption *read_defaults(const char *service)
{
    const char *set = getenv("PGSERVICE");
    char *before = set != NULL ? strdup(set) : NULL;
    if (service != NULL)
        (void)setenv("PGSERVICE", service, 1);
    PQconninfoOption *defaults = PQconndefaults();
    if (service != NULL && before != NULL)
        (void)setenv("PGSERVICE", before, 1);
    else if (service != NULL)
        (void)unsetenv("PGSERVICE");
    free(before);
    return defaults;
}

static bool keep(struct db_address *address, const char *keyword, const char *value)
{
    char **slot = strcmp(keyword, "host") == 0       ? &address->host
                  : strcmp(keyword, "hostaddr") == 0 ? &address->hostaddr
                  : strcmp(keyword, "port") == 0     ? &address->port
                                                     : NULL;
    if (slot != NULL) {
        *slot = strdup(value);
        return *slot != NULL;
    }
    address->keywords[address->count] = strdup(keyword);
    address->values[address->count] = strdup(value);
    address->count++;
    return address->keywords[address->count - 1] != NULL &&
           address->values[address->count - 1] != NULL;
}

/* What libpq would take anyway is left to it, so that "not given" can be told
 * from "given": only then have we defaults of our own. */
static bool is_only_compiled_in(const PQconninfoOption *option)
{
    return option->compiled != NULL && option->val != NULL &&
           strcmp(option->val, option->compiled) == 0 && strcmp(option->keyword, "port") != 0 &&
           !(option->envvar != NULL && getenv(option->envvar) != NULL);
}

static bool fill(struct db_address *address, const PQconninfoOption *defaults,
                 const PQconninfoOption *given)
{
    size_t count = 0;
    while (defaults[count].keyword != NULL)
        count++;
    address->keywords = calloc(count + 1, sizeof(char *));
    address->values = calloc(count + 1, sizeof(char *));
    if (address->keywords == NULL || address->values == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *keyword = defaults[i].keyword;
        const char *value = option_value(given, keyword);
        if (value == NULL && !is_only_compiled_in(&defaults[i]))
            value = defaults[i].val;
        if (value != NULL && *value && !keep(address, keyword, value))
            return false;
    }
    return true;
}

static bool make_label(struct db_address *address)
{
    struct buf label;
    const char *user = db_address_value(address, "user");
    const char *database = db_address_value(address, "dbname");
    const char *host = address->host != NULL ? address->host : address->hostaddr;
    buf_init(&label, 4 * LIMIT_KIB);
    buf_puts(&label, host != NULL ? host : "local socket");
    if (address->port != NULL)
        buf_printf(&label, ":%s", address->port);
    buf_printf(&label, "/%s as %s",
               database != NULL ? database
               : user != NULL   ? user
                                : "?",
               user != NULL ? user : "?");
    address->label = buf_detach(&label, NULL);
    return address->label != NULL;
}

struct db_address *db_address_create(const char *url, struct error *error)
{
    PQconninfoOption *given = NULL;
    if (url != NULL && *url) {
        given = parse_url(url, error);
        if (given == NULL)
            return NULL;
    }
    if (!service_file_check(option_value(given, "service"), error)) {
        PQconninfoFree(given);
        return NULL;
    }
    struct db_address *address = calloc(1, sizeof *address);
    PQconninfoOption *defaults = read_defaults(option_value(given, "service"));
    if (address == NULL || defaults == NULL || !fill(address, defaults, given) ||
        !make_label(address)) {
        (void)error_out_of_memory(error);
        db_address_destroy(address);
        address = NULL;
    }
    PQconninfoFree(given);
    PQconninfoFree(defaults);
    return address;
}

void db_address_destroy(struct db_address *address)
{
    if (address == NULL)
        return;
    for (size_t i = 0; address->values != NULL && i < address->count; i++) {
        if (address->values[i] != NULL)
            explicit_bzero(address->values[i], strlen(address->values[i]));
        free(address->values[i]);
        free(address->keywords[i]);
    }
    free(address->keywords);
    free(address->values);
    free(address->host);
    free(address->hostaddr);
    free(address->port);
    free(address->label);
    free(address);
}

const char *db_address_label(const struct db_address *address)
{
    return address->label;
}

const char *db_address_value(const struct db_address *address, const char *keyword)
{
    for (size_t i = 0; i < address->count; i++) {
        if (strcmp(address->keywords[i], keyword) == 0)
            return address->values[i];
    }
    return NULL;
}

const char *db_address_choose(const char *option, const char *configured)
{
    const char *const places[] = {option, getenv("PGFLOW_DATABASE"), configured,
                                  getenv("DATABASE_URL")};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (places[i] != NULL && *places[i])
            return places[i];
    }
    return NULL;
}

void db_address_free_parts(char **parts, size_t count)
{
    for (size_t i = 0; parts != NULL && i < count; i++)
        free(parts[i]);
    free(parts);
}

char **db_address_split(const char *list, size_t *count)
{
    size_t parts = 1;
    for (const char *c = list; *c; c++)
        parts += *c == ',';
    char **items = calloc(parts, sizeof(char *));
    *count = parts;
    for (size_t i = 0; items != NULL && i < parts; i++) {
        size_t size = strcspn(list, ",");
        items[i] = strndup(list, size);
        if (items[i] == NULL) {
            db_address_free_parts(items, parts);
            return NULL;
        }
        list += size + (list[size] == ',');
    }
    return items;
}
