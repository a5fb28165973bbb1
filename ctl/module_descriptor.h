/*
 * A module's descriptor as JSON text, read by a throw-away runner, so that a
 * module that crashes takes nothing along. For the commands that take a FILE.so.
 */
#ifndef PGFLOW_CTL_MODULE_DESCRIPTOR_H
#define PGFLOW_CTL_MODULE_DESCRIPTOR_H

#include "base/error.h"

#include <stdbool.h>

/* An object on one line, to be freed with free(); its shape is that of
 * pgflow.ensure_deployment's argument. NULL: ERROR_CONFIG that names the file. */
char *module_descriptor_read(const char *path, struct error *error) MUST_CHECK;
/* Of one that nobody else can change: for completion, where a key maps what a word names. */
char *module_descriptor_read_trusted(const char *path, struct error *error) MUST_CHECK;

/* What a host asks of it at its start: a process that maps foreign code printed it, so
 * nothing in it is believed before. */
bool module_descriptor_check(const char *path, const char *descriptor,
                             struct error *error) MUST_CHECK;

#endif
