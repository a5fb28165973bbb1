/*
 * What the connector needs of an address. Private to lib/db.
 */
#ifndef PGFLOW_DB_ADDRESS_PARTS_H
#define PGFLOW_DB_ADDRESS_PARTS_H

#include <stdbool.h>
#include <stddef.h>

struct db_address {
    /* Everything that libpq is told but host, hostaddr and port. */
    char **keywords;
    char **values;
    size_t count;
    char *host;     /* the lists as given; NULL: libpq's default */
    char *hostaddr; /* NULL: to be resolved */
    char *port;     /* NULL: 5432 */
    char *label;
};

/* The value of a keyword, or NULL. */
const char *db_address_value(const struct db_address *address, const char *keyword);

/* Splits "a,b,c"; the parts are owned strings. NULL when out of memory. */
char **db_address_split(const char *list, size_t *count);
void db_address_free_parts(char **parts, size_t count);

#endif
