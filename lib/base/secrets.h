/*
 * Credentials in texts that are shown: a database URL that was given where none belongs is quoted
 * by the error about it.
 */
#ifndef PGFLOW_BASE_SECRETS_H
#define PGFLOW_BASE_SECRETS_H

#include <stdbool.h>

/* Is it, or has it, a database URL, a URL with a user, or a password of a connection string? */
bool secrets_look(const char *text);

/* Puts stars in the place of each, so that no text grows. */
void secrets_hide(char *text);

#endif
