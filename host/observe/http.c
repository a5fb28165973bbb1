#include "observe/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "observe/listen_address.h"

struct http_server {
    struct MHD_Daemon *daemon;
    uv_poll_t poll;   /* on the daemon's epoll descriptor */
    uv_timer_t timer; /* for connections that are idle for too long */
    int handles_open;
    http_answer answer;
    void *ctx;
};

/* ---- Requests ---- */

static struct MHD_Response *make_response(struct http_response *answer)
{
    static char nothing[] = "";
    size_t size = 0;
    char *body = answer->body.size > 0 ? buf_detach(&answer->body, &size) : NULL;
    struct MHD_Response *response =
        body != NULL ? MHD_create_response_from_buffer(size, body, MHD_RESPMEM_MUST_FREE)
                     : MHD_create_response_from_buffer(0, nothing, MHD_RESPMEM_PERSISTENT);

    if (response == NULL) {
        free(body);
        return NULL;
    }
    (void)MHD_add_response_header(response, "Content-Type", answer->content_type);
    (void)MHD_add_response_header(response, "Content-Security-Policy", answer->policy);
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, "Allow", "GET, HEAD");
    return response;
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, struct http_response *answer)
{
    if (!buf_ok(&answer->body)) {
        answer->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
        buf_clear(&answer->body);
    }
    struct MHD_Response *response = make_response(answer);
    enum MHD_Result sent = MHD_NO;

    if (response != NULL) {
        sent = MHD_queue_response(connection, answer->status, response);
        MHD_destroy_response(response);
    }
    buf_free(&answer->body);
    return sent;
}

/* The first call has the headers only; a method that we do not serve is answered there, so that no
 * body is read. MHD_NO closes the connection. The parameters are libmicrohttpd's. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload,
                                  /* NOLINTNEXTLINE(readability-non-const-parameter) */
                                  size_t *upload_size, void **seen)
{
    static char headers_seen;
    struct http_server *server = cls;
    struct http_response answer = {.status = MHD_HTTP_NOT_FOUND,
                                   .content_type = "text/plain; charset=utf-8",
                                   .policy = "default-src 'none'"};

    (void)version;
    (void)upload;
    (void)upload_size;
    buf_init(&answer.body, LIMIT_HTTP_BODY);
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        answer.status = MHD_HTTP_METHOD_NOT_ALLOWED;
        return send_answer(connection, &answer);
    }
    if (*seen == NULL) {
        *seen = &headers_seen;
        return MHD_YES;
    }
    server->answer(server->ctx, path, &answer);
    return send_answer(connection, &answer);
}

/* ---- The loop ---- */

static void on_timer(uv_timer_t *timer);

static unsigned connections(const struct http_server *server)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

    return info != NULL ? info->num_connections : 0;
}

/* At its limit the daemon does not listen; it takes that up again at the beginning of a run only,
 * and no event would bring about the one after a connection has ended. */
static void run(struct http_server *server)
{
    MHD_UNSIGNED_LONG_LONG ms = 0;
    bool was_full = connections(server) >= LIMIT_HTTP_CONNECTIONS;

    (void)MHD_run(server->daemon);
    if (was_full && connections(server) < LIMIT_HTTP_CONNECTIONS)
        (void)MHD_run(server->daemon);
    if (MHD_get_timeout(server->daemon, &ms) == MHD_YES)
        (void)uv_timer_start(&server->timer, on_timer, ms, 0);
    else
        (void)uv_timer_stop(&server->timer);
}

static void on_timer(uv_timer_t *timer)
{
    run(timer->data);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    run(poll->data);
}

/* ---- Opening and closing ---- */

static int listen_on(struct listen_address *address, struct error *error)
{
    const int on = 1;
    char text[LISTEN_ADDRESS_TEXT];
    int family = address->socket.ss_family;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const struct sockaddr *name = (const struct sockaddr *)&address->socket;

    listen_address_print(address, text);
    if (fd < 0) {
        (void)error_set(error, ERROR_CONFIG, "%s: cannot make a socket: %s", text, strerror(errno));
        return -1;
    }
    /* So that a restarted host gets its port while old connections linger. */
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, name, address->size) == 0 && listen(fd, LIMIT_HTTP_CONNECTIONS) == 0 &&
        getsockname(fd, (struct sockaddr *)&address->socket, &address->size) == 0)
        return fd;
    (void)error_set(error, ERROR_CONFIG, "cannot listen on %s: %s%s", text, strerror(errno),
                    errno == EADDRINUSE      ? "; give each host of this machine a port of its own"
                    : errno == EADDRNOTAVAIL ? "; give an address that this machine has"
                    : errno == EACCES        ? "; give a port above 1023"
                                             : "");
    close(fd);
    return -1;
}

/* The socket is the daemon's from here on, also when it cannot be started. */
static struct MHD_Daemon *start_daemon(struct http_server *server, int fd)
{
    return MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, server,
                            MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                            (unsigned)LIMIT_HTTP_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                            (size_t)LIMIT_HTTP_REQUEST, MHD_OPTION_CONNECTION_TIMEOUT,
                            (unsigned)LIMIT_HTTP_IDLE_S, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
                            MHD_OPTION_END);
}

static bool watch(struct http_server *server, uv_loop_t *loop)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);

    if (info == NULL || uv_poll_init(loop, &server->poll, info->epoll_fd) != 0)
        return false;
    server->poll.data = server;
    (void)uv_timer_init(loop, &server->timer);
    server->timer.data = server;
    server->handles_open = 2;
    return uv_poll_start(&server->poll, UV_READABLE, on_poll) == 0;
}

struct http_server *http_server_open(uv_loop_t *loop, struct listen_address *address,
                                     http_answer answer, void *ctx, struct error *error)
{
    struct http_server *server = calloc(1, sizeof *server);

    if (server == NULL) {
        (void)error_out_of_memory(error);
        return NULL;
    }
    server->answer = answer;
    server->ctx = ctx;
    int fd = listen_on(address, error);
    if (fd >= 0) {
        server->daemon = start_daemon(server, fd);
        if (server->daemon != NULL && watch(server, loop))
            return server;
        (void)error_set(error, ERROR_INTERNAL, "cannot start the HTTP server");
    }
    http_server_close(server);
    return NULL;
}

static void on_closed(uv_handle_t *handle)
{
    struct http_server *server = handle->data;

    if (--server->handles_open == 0)
        free(server);
}

/* The watcher goes first: the daemon closes the descriptor under it. */
void http_server_close(struct http_server *server)
{
    if (server == NULL)
        return;
    if (server->handles_open > 0) {
        uv_close((uv_handle_t *)&server->poll, on_closed);
        uv_close((uv_handle_t *)&server->timer, on_closed);
    }
    if (server->daemon != NULL)
        MHD_stop_daemon(server->daemon);
    server->daemon = NULL;
    if (server->handles_open == 0)
        free(server);
}
