/*
 * From what the operator wrote to struct settings: command line before environment before
 * configuration file before default. Called once, by main, before anything else happens.
 */
#ifndef PGFLOW_OPTIONS_OPTIONS_H
#define PGFLOW_OPTIONS_OPTIONS_H

#include <stdbool.h>

#include "base/error.h"
#include "options/settings.h"

/*
 * Fills `settings` (to be finished with settings_finish, also after false). With --help or
 * --version nothing else is checked. `environment` is NULL-terminated NAME=value text. Errors:
 * ERROR_USAGE, with the place, the value and what would be right.
 */
bool options_read(struct settings *settings, int argc, char *const argv[],
                  char *const environment[], struct error *error) MUST_CHECK;

/* Overwrites the values of --database, PGFLOW_DATABASE, DATABASE_URL and PGPASSWORD where the
 * kernel shows them to other processes. Call when nothing needs them from there any more. */
void options_wipe_secrets(int argc, char *argv[], char *environment[]);

/* Prints to stdout. */
void options_print_help(void);
void options_print_version(void);

#endif
