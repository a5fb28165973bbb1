/*
 * Which database pgflowctl works on: the host's fallbacks.
 */
#include "ctl/command.h"

#include "base/text_file.h"
#include "ctl/plain.h"
#include "db/address.h"
#include "db/sync.h"
#include "options/option_layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_TIMEOUT_S 5
/* A migration or a large cancellation may take long, and nobody else waits for
 * this connection. */
#define STATEMENT_DEADLINE_MS (3600 * 1000)

/* The host's own reader, so that one file serves both. NULL: it names none, or
 * the error is set. To be freed. */
static char *configured_database(const char *path, struct error *error)
{
    struct buf text;
    struct option_layer layer;
    char *database = NULL;
    buf_init(&text, LIMIT_CONFIG_FILE);
    if (option_layer_init(&layer, error)) {
        if ((text_file_read_trusted(path, &text, error) || error_wrap(error, "--config")) &&
            option_layer_read_config(&layer, path, text.data, error)) {
            const struct option_values *values = option_layer_get(&layer, option_find("database"));
            if (values->count > 0)
                database = strdup(values->items[0]);
        }
        option_layer_finish(&layer);
    }
    buf_free(&text);
    return database;
}

static void print_warning(const char *text)
{
    (void)fputs("pgflowctl: warning: ", stderr);
    plain_print(stderr, text);
    (void)fputc('\n', stderr);
}

/* What the command line names: the option of the command, else --database. */
static const char *named_database(const struct invocation *invocation)
{
    const char *option = invocation->command != NULL ? invocation->command->database_option : NULL;
    const char *named = option != NULL ? invocation_value(invocation, option) : NULL;
    return named != NULL ? named : invocation->database;
}

bool invocation_connect(struct invocation *invocation, struct error *error)
{
    const char *path = invocation->config != NULL ? invocation->config : getenv("PGFLOW_CONFIG");
    char *configured = NULL;
    if (path != NULL && *path) {
        error_clear(error);
        configured = configured_database(path, error);
        if (configured == NULL && error->code != ERROR_NONE)
            return false;
    }
    struct db_sync_config config = {
        .url = db_address_choose(named_database(invocation), configured),
        .name = "pgflowctl",
        .connect_timeout_s = invocation->hurried ? 1 : CONNECT_TIMEOUT_S,
        .statement_deadline_ms = invocation->hurried ? 1000 : STATEMENT_DEADLINE_MS,
        .on_warning = invocation->hurried ? NULL : print_warning,
    };
    invocation->db = db_sync_open(&config, error);
    free(configured);
    return invocation->db != NULL;
}
