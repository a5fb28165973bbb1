/*
 * A small HTTP server on the host's loop: libmicrohttpd, driven from outside, without a thread. It
 * only answers GET and HEAD, from memory, at once; a client that is slow to send or to read costs
 * its own connection and never the loop.
 *
 * Bounds: LIMIT_HTTP_CONNECTIONS at a time, LIMIT_HTTP_REQUEST bytes of a request,
 * LIMIT_HTTP_IDLE_S without a byte. One connection more takes the place of the one that has gone
 * without an answer for the longest, after 20 ms at the latest: whatever clients do, the next probe
 * is answered.
 *
 * An address of this machine alone answers who asks for it by number or as localhost (http_host.h).
 */
#ifndef PGFLOW_OBSERVE_HTTP_H
#define PGFLOW_OBSERVE_HTTP_H

#include "base/buf.h"
#include "base/error.h"

#include <uv.h>

struct http_server;
struct listen_address;

/* Filled by the owner; as it comes it is an empty 404. */
struct http_response {
    unsigned status;
    const char *content_type; /* a literal */
    const char *policy;       /* Content-Security-Policy, a literal */
    struct buf body;
};

/* Called from the loop; it must not close the server. `path` is without the query. */
typedef void (*http_answer)(void *ctx, const char *path, struct http_response *response);

/* Listens. NULL: ERROR_CONFIG when the address or the port cannot be had. `address` gets the port
 * that the kernel chose for port 0. */
struct http_server *http_server_open(uv_loop_t *loop, struct listen_address *address,
                                     http_answer answer, void *ctx, struct error *error) MUST_CHECK;

/* Takes NULL. Drops every connection at once; the memory goes when the loop has closed the handles.
 */
void http_server_close(struct http_server *server);

/* Of the libmicrohttpd that is loaded, for --version. */
const char *http_library_version(void);

#endif
