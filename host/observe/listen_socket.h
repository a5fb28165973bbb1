/*
 * The listening socket of an address, for http.c.
 */
#ifndef PGFLOW_OBSERVE_LISTEN_SOCKET_H
#define PGFLOW_OBSERVE_LISTEN_SOCKET_H

#include "base/error.h"

struct listen_address;

/* A non-blocking descriptor of the caller's own, and in `address` the port that the kernel chose
 * for port 0. -1: ERROR_CONFIG with what to do. */
int listen_socket_open(struct listen_address *address, int backlog, struct error *error) MUST_CHECK;

#endif
