#include "observe/listen_address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static bool parse_port(const char *text, in_port_t *port)
{
    unsigned long number = 0;

    if (*text == '\0' || strlen(text) > 5 || strspn(text, "0123456789") != strlen(text))
        return false;
    number = strtoul(text, NULL, 10);
    *port = htons((in_port_t)number);
    return number <= 65535;
}

static bool parse_v4(const char *host, in_port_t port, struct listen_address *address)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = port};

    if (inet_pton(AF_INET, host, &in.sin_addr) != 1)
        return false;
    memcpy(&address->socket, &in, sizeof in);
    address->size = sizeof in;
    return true;
}

static bool parse_v6(const char *host, in_port_t port, struct listen_address *address)
{
    struct sockaddr_in6 in = {.sin6_family = AF_INET6, .sin6_port = port};

    if (inet_pton(AF_INET6, host, &in.sin6_addr) != 1)
        return false;
    memcpy(&address->socket, &in, sizeof in);
    address->size = sizeof in;
    return true;
}

/* Splits at the last colon; brackets stand around an IPv6 address and nothing else. */
static bool parse(const char *text, struct listen_address *address)
{
    const char *colon = strrchr(text, ':');
    char host[INET6_ADDRSTRLEN + 2];
    in_port_t port = 0;

    if (colon == NULL || (size_t)(colon - text) >= sizeof host || !parse_port(colon + 1, &port))
        return false;
    size_t size = (size_t)(colon - text);
    memcpy(host, text, size);
    host[size] = '\0';
    if (size < 2 || host[0] != '[' || host[size - 1] != ']')
        return parse_v4(host, port, address);
    host[size - 1] = '\0';
    return parse_v6(host + 1, port, address);
}

bool listen_address_parse(const char *text, struct listen_address *address, struct error *error)
{
    memset(address, 0, sizeof *address);
    return parse(text, address) ||
           error_set(error, ERROR_USAGE,
                     "'%s' is no numeric address with a port; give 127.0.0.1:9187 for this machine "
                     "alone, 0.0.0.0:9187 or [::]:9187 for every address of it",
                     text_shown(text));
}

bool listen_address_is_loopback(const struct listen_address *address)
{
    if (address->socket.ss_family == AF_INET6) {
        struct sockaddr_in6 in;
        memcpy(&in, &address->socket, sizeof in);
        return IN6_IS_ADDR_LOOPBACK(&in.sin6_addr) ||
               (IN6_IS_ADDR_V4MAPPED(&in.sin6_addr) && in.sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
    }
    struct sockaddr_in in;
    memcpy(&in, &address->socket, sizeof in);
    return ntohl(in.sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
}

void listen_address_print(const struct listen_address *address, char *text)
{
    char host[INET6_ADDRSTRLEN] = "?";

    if (address->socket.ss_family == AF_INET6) {
        struct sockaddr_in6 in;
        memcpy(&in, &address->socket, sizeof in);
        (void)inet_ntop(AF_INET6, &in.sin6_addr, host, sizeof host);
        snprintf(text, LISTEN_ADDRESS_TEXT, "[%s]:%u", host, ntohs(in.sin6_port));
    } else {
        struct sockaddr_in in;
        memcpy(&in, &address->socket, sizeof in);
        (void)inet_ntop(AF_INET, &in.sin_addr, host, sizeof host);
        snprintf(text, LISTEN_ADDRESS_TEXT, "%s:%u", host, ntohs(in.sin_port));
    }
}
