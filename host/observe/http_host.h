/*
 * The Host header of a request to an address of this machine alone.
 *
 * A page of some other site, open in a browser of this machine, can have its own name resolve to
 * 127.0.0.1 and then read what is served there (DNS rebinding). Its requests carry its name in the
 * Host header; those of the people and programs of this machine carry a number or "localhost".
 */
#ifndef PGFLOW_OBSERVE_HTTP_HOST_H
#define PGFLOW_OBSERVE_HTTP_HOST_H

#include <stdbool.h>

/* A numeric address or localhost, with or without a port. NULL: none was sent, as no browser does.
 */
bool http_host_is_local(const char *host);

#endif
