/*
 * ADDR:PORT of --metrics-listen as a socket address. Numbers only: a name may mean another address
 * tomorrow, and looking it up would block.
 */
#ifndef PGFLOW_OBSERVE_LISTEN_ADDRESS_H
#define PGFLOW_OBSERVE_LISTEN_ADDRESS_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/socket.h>

struct listen_address {
    struct sockaddr_storage socket;
    socklen_t size;
};

enum { LISTEN_ADDRESS_TEXT = 64 };

/* 127.0.0.1:9187, [::1]:9187; port 0: the kernel chooses one. ERROR_USAGE without the option's
 * name. */
bool listen_address_parse(const char *text, struct listen_address *address,
                          struct error *error) MUST_CHECK;

/* Nothing outside of this machine reaches it. */
bool listen_address_is_loopback(const struct listen_address *address);

/* As it is parsed; `text` has LISTEN_ADDRESS_TEXT bytes. */
void listen_address_print(const struct listen_address *address, char *text);

#endif
