/*
 * JSON on the command line: the text itself, @FILE, or - for stdin.
 */
#ifndef PGFLOW_CTL_JSON_OPTION_H
#define PGFLOW_CTL_JSON_OPTION_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>

struct invocation;

/* What option `name` gives, or `otherwise`, put into the empty buffer and
 * checked. ERROR_USAGE names the option, the file or the byte. */
bool json_option_read(const struct invocation *invocation, const char *name, const char *otherwise,
                      struct buf *text, struct error *error) MUST_CHECK;

#endif
