#include "observe/listen_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "observe/listen_address.h"

static const char *remedy_of(int reason)
{
    switch (reason) {
    case EADDRINUSE:
        return "; give each host of this machine a port of its own";
    case EADDRNOTAVAIL:
        return "; give an address that this machine has";
    case EINVAL:
        return "; an address of one link (fe80::) cannot be given here";
    case EACCES:
        return "; give a port above 1023";
    case EAFNOSUPPORT:
        return "; this machine has no such addresses, give one of the other kind";
    default:
        return "";
    }
}

static int refuse(const struct listen_address *address, int fd, struct error *error)
{
    int reason = errno;
    char text[LISTEN_ADDRESS_TEXT];

    listen_address_print(address, text);
    (void)error_set(error, ERROR_CONFIG, "cannot listen on %s: %s%s", text, strerror(reason),
                    remedy_of(reason));
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

int listen_socket_open(struct listen_address *address, int backlog, struct error *error)
{
    const int on = 1, off = 0;
    int family = address->socket.ss_family;
    const struct sockaddr *name = (const struct sockaddr *)&address->socket;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return refuse(address, fd, error);
    /* So that a restarted host gets its port while old connections linger. */
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    /* [::] is every address, IPv4 too, whatever the machine's default is. */
    if (family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, name, address->size) != 0 || listen(fd, backlog) != 0 ||
        getsockname(fd, (struct sockaddr *)&address->socket, &address->size) != 0)
        return refuse(address, fd, error);
    return fd;
}
