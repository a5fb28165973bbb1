#include "observe/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "observe/http_host.h"
#include "observe/http_places.h"
#include "observe/listen_address.h"
#include "observe/listen_socket.h"

/* After an accept that failed for want of a descriptor that nothing here could free. */
#define SHORTAGE_MS 1000
/* A connection that had its answer within the last second is in use. At the limit a new one waits a
 * moment for one of those to end, which is all that a burst of clients needs, and then takes the
 * place of the first all the same. */
#define IN_USE_NS NS_PER_S
#define MOMENT_MS 20

enum { HANDLES = 4 };

struct http_server {
    struct MHD_Daemon *daemon;
    int listener;
    uv_poll_t accepting; /* on the listener */
    uv_poll_t serving;   /* on the daemon's epoll descriptor */
    uv_timer_t idle;     /* for connections that say nothing for too long */
    uv_timer_t pause;    /* of accepting */
    uv_handle_t *handles[HANDLES];
    int handles_open;
    struct http_places places;
    bool has_waited; /* who comes next has waited for its moment */
    bool is_local;   /* nothing outside of this machine reaches it */
    http_answer answer;
    void *ctx;
};

/* ---- Connections ---- */

static void on_accepting(uv_poll_t *poll, int status, int events);

static void go_on_accepting(struct http_server *server)
{
    (void)uv_timer_stop(&server->pause);
    (void)uv_poll_start(&server->accepting, UV_READABLE, on_accepting);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **own,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http_server *server = cls;
    struct http_place *place = *own;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        place = info != NULL ? calloc(1, sizeof *place) : NULL;
        if (place == NULL)
            return; /* served, and bounded by the daemon's own limit */
        place->fd = info->connect_fd;
        http_places_take(&server->places, place);
        *own = place;
    } else if (place != NULL) {
        http_places_leave(&server->places, place);
        free(place);
        *own = NULL;
        if (uv_is_active((uv_handle_t *)&server->pause))
            go_on_accepting(server);
    }
}

static void on_answered(void *cls, struct MHD_Connection *connection, void **seen,
                        enum MHD_RequestTerminationCode how)
{
    struct http_server *server = cls;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct http_place *place = info != NULL ? info->socket_context : NULL;

    (void)seen;
    /* One that was dropped meanwhile does not come back. */
    if (how == MHD_REQUEST_TERMINATED_COMPLETED_OK && place != NULL && place->is_taken)
        http_places_take(&server->places, place);
}

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
    (void)MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, "Allow", "GET, HEAD");
    return response;
}

static void say(struct http_response *answer, const char *text)
{
    answer->content_type = "text/plain; charset=utf-8";
    buf_clear(&answer->body);
    buf_puts(&answer->body, text);
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, struct http_response *answer)
{
    if (!buf_ok(&answer->body)) {
        answer->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
        say(answer, "The answer would be longer than this host may give.\n");
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

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* True when it is refused, whatever it asks for. */
static bool refuse(const struct http_server *server, struct MHD_Connection *connection,
                   const char *method, struct http_response *answer)
{
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        answer->status = MHD_HTTP_METHOD_NOT_ALLOWED;
        say(answer, "There is GET and HEAD.\n");
    } else if (server->is_local && !http_host_is_local(header(connection, MHD_HTTP_HEADER_HOST))) {
        answer->status = MHD_HTTP_MISDIRECTED_REQUEST;
        say(answer, "This address is for this machine alone: ask for it by its number, or as "
                    "localhost. A proxy has to send one of them as Host.\n");
    } else {
        return false;
    }
    return true;
}

/* The daemon takes an answer before a body or after it, and nobody here reads one. */
static bool has_body(struct MHD_Connection *connection)
{
    const char *length = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);

    return header(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL ||
           (length != NULL && strspn(length, "0") != strlen(length));
}

/* The first call has the headers only; what is refused, and what comes with a body, is answered
 * there, and its connection ends with it. MHD_NO closes the connection at once. The parameters are
 * libmicrohttpd's. */
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
    if (refuse(server, connection, method, &answer))
        return send_answer(connection, &answer);
    if (*seen == NULL && !has_body(connection)) {
        *seen = &headers_seen;
        return MHD_YES;
    }
    server->answer(server->ctx, path, &answer);
    return send_answer(connection, &answer);
}

/* ---- The loop ---- */

static void on_idle(uv_timer_t *timer);

static void run(struct http_server *server)
{
    MHD_UNSIGNED_LONG_LONG ms = 0;

    (void)MHD_run(server->daemon);
    if (MHD_get_timeout(server->daemon, &ms) == MHD_YES)
        (void)uv_timer_start(&server->idle, on_idle, ms, 0);
    else
        (void)uv_timer_stop(&server->idle);
}

static void on_idle(uv_timer_t *timer)
{
    run(timer->data);
}

static void on_serving(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    run(poll->data);
}

static void on_pause_over(uv_timer_t *timer)
{
    struct http_server *server = timer->data;

    server->has_waited = true;
    go_on_accepting(server);
}

/* What waits stays readable, so that going on would be a busy loop. A connection that ends, ends
 * the pause too. */
static void pause_accepting(struct http_server *server, uint64_t ms)
{
    (void)uv_poll_stop(&server->accepting);
    (void)uv_timer_start(&server->pause, on_pause_over, ms, 0);
}

/* For one who certainly waits. False: it has to wait for a moment. */
static bool make_room(struct http_server *server)
{
    bool may_drop = server->has_waited;

    server->has_waited = false;
    if (server->places.count < LIMIT_HTTP_CONNECTIONS)
        return true;
    may_drop = may_drop || !http_places_first_is_in_use(&server->places, IN_USE_NS);
    return may_drop && http_places_drop_first(&server->places);
}

/* False: nobody waits, or nothing can be opened. */
static bool accept_one(struct http_server *server, bool certainly_waits)
{
    struct sockaddr_storage from = {0};
    struct sockaddr *name = (struct sockaddr *)&from;
    socklen_t size = sizeof from;
    int fd = accept4(server->listener, name, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0) {
        /* Closes the descriptor when it cannot take it. */
        (void)MHD_add_connection(server->daemon, fd, name, size);
        return true;
    }
    /* Without a free descriptor accept4 fails even when nobody waits. */
    if (certainly_waits && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED &&
        !http_places_drop_first(&server->places))
        pause_accepting(server, SHORTAGE_MS);
    return false;
}

static void on_accepting(uv_poll_t *poll, int status, int events)
{
    struct http_server *server = poll->data;

    (void)status;
    (void)events;
    if (!make_room(server))
        pause_accepting(server, MOMENT_MS);
    else if (accept_one(server, true))
        while (server->places.count < LIMIT_HTTP_CONNECTIONS && accept_one(server, false))
            ;
    run(server);
}

/* ---- Opening and closing ---- */

static struct MHD_Daemon *start_daemon(struct http_server *server)
{
    return MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, on_request,
                            server, MHD_OPTION_CONNECTION_LIMIT, (unsigned)LIMIT_HTTP_DESCRIPTORS,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)LIMIT_HTTP_REQUEST,
                            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)LIMIT_HTTP_IDLE_S,
                            MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
                            MHD_OPTION_NOTIFY_COMPLETED, on_answered, server,
                            MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
}

static void own_handle(struct http_server *server, uv_handle_t *handle)
{
    handle->data = server;
    server->handles[server->handles_open++] = handle;
}

static bool watch(struct http_server *server, uv_loop_t *loop, uv_poll_t *poll, int fd,
                  uv_poll_cb on_readable)
{
    if (uv_poll_init(loop, poll, fd) != 0)
        return false;
    own_handle(server, (uv_handle_t *)poll);
    return uv_poll_start(poll, UV_READABLE, on_readable) == 0;
}

static bool start(struct http_server *server, uv_loop_t *loop)
{
    server->daemon = start_daemon(server);
    if (server->daemon == NULL)
        return false;
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    (void)uv_timer_init(loop, &server->idle);
    own_handle(server, (uv_handle_t *)&server->idle);
    (void)uv_timer_init(loop, &server->pause);
    own_handle(server, (uv_handle_t *)&server->pause);
    return info != NULL && watch(server, loop, &server->serving, info->epoll_fd, on_serving) &&
           watch(server, loop, &server->accepting, server->listener, on_accepting);
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
    server->is_local = listen_address_is_loopback(address);
    http_places_init(&server->places);
    server->listener = listen_socket_open(address, LIMIT_HTTP_CONNECTIONS, error);
    if (server->listener >= 0) {
        if (start(server, loop))
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

/* The watchers go first: the descriptors under them are closed here. */
void http_server_close(struct http_server *server)
{
    if (server == NULL)
        return;
    for (int i = 0; i < server->handles_open; i++)
        uv_close(server->handles[i], on_closed);
    if (server->daemon != NULL)
        MHD_stop_daemon(server->daemon);
    server->daemon = NULL;
    if (server->listener >= 0)
        (void)close(server->listener);
    if (server->handles_open == 0)
        free(server);
}

const char *http_library_version(void)
{
    return MHD_get_version();
}
