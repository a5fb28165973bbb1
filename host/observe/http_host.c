#include "observe/http_host.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Of "name:port" and "[address]:port" what stands before the port; 0: neither. */
static size_t size_without_port(const char *host)
{
    const char *bracket = host[0] == '[' ? strchr(host, ']') : NULL;
    size_t size = bracket != NULL ? (size_t)(bracket - host) + 1 : strcspn(host, ":");

    return host[size] == '\0' || host[size] == ':' ? size : 0;
}

static bool is_number(const char *name)
{
    struct in_addr four;
    struct in6_addr six;
    size_t size = strlen(name);
    char inner[INET6_ADDRSTRLEN];

    if (size < 2 || name[0] != '[' || name[size - 1] != ']')
        return inet_pton(AF_INET, name, &four) == 1;
    if (size - 2 >= sizeof inner)
        return false;
    memcpy(inner, name + 1, size - 2);
    inner[size - 2] = '\0';
    return inet_pton(AF_INET6, inner, &six) == 1;
}

bool http_host_is_local(const char *host)
{
    char name[INET6_ADDRSTRLEN + 2];
    size_t size = 0;

    if (host == NULL)
        return true;
    size = size_without_port(host);
    if (size >= sizeof name)
        return false;
    memcpy(name, host, size);
    name[size] = '\0';
    return strcasecmp(name, "localhost") == 0 || is_number(name);
}
