/*
 * A connection that TCP resets: libuv tells it as an error of the poll, not as
 * something to read, so a local socket never shows it.
 */
#include "fixture.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Hands one connection at a time on to the server's socket. */
struct relay {
    int listener;
    int port;
    pthread_t thread;
    atomic_bool resets, ends;
};

static struct fixture fixture;
static struct relay relay;

static int connect_to_server(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/.s.PGSQL.%s", getenv("PGHOST"),
                   getenv("PGPORT"));
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        abort();
    return fd;
}

static bool copy(int from, int to)
{
    char bytes[4096];
    ssize_t size = read(from, bytes, sizeof bytes);

    return size > 0 && write(to, bytes, (size_t)size) == size;
}

static void hand_on(int client, int server)
{
    struct pollfd sides[2] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    struct linger none = {.l_onoff = 1, .l_linger = 0};

    while (!relay.resets && !relay.ends) {
        (void)poll(sides, 2, 10);
        if ((sides[0].revents && !copy(client, server)) ||
            (sides[1].revents && !copy(server, client)))
            break;
    }
    /* Closed so, it sends a reset instead of an end. */
    if (atomic_exchange(&relay.resets, false))
        (void)setsockopt(client, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    (void)close(client);
    (void)close(server);
}

static void *run_relay(void *unused)
{
    struct pollfd listener = {.fd = relay.listener, .events = POLLIN};

    while (!relay.ends) {
        if (poll(&listener, 1, 10) > 0)
            hand_on(accept(relay.listener, NULL, NULL), connect_to_server());
    }
    return unused;
}

static void start_relay(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;

    relay.listener = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert(eq(int, bind(relay.listener, (struct sockaddr *)&address, size), 0));
    cr_assert(eq(int, listen(relay.listener, 4), 0));
    cr_assert(eq(int, getsockname(relay.listener, (struct sockaddr *)&address, &size), 0));
    relay.port = ntohs(address.sin_port);
    cr_assert(eq(int, pthread_create(&relay.thread, NULL, run_relay, NULL), 0));
}

static void stop_relay(void)
{
    relay.ends = true;
    (void)pthread_join(relay.thread, NULL);
    (void)close(relay.listener);
}

Test(reset, costs_the_call_at_once_and_the_connection_comes_back)
{
    char url[128];
    struct answer lost = {0};
    struct db_config config = fixture_config(&fixture);
    /* Longer than UNTIL waits: nothing but the reset can end the call. */
    config.statement_deadline_ms = 300000;
    start_relay();
    (void)snprintf(url, sizeof url, "host=127.0.0.1 port=%d", relay.port);
    fixture_open(&fixture, url, config);
    UNTIL(&fixture, fixture.ups == 1);
    fixture_send(&fixture, &lost, "select pg_sleep(60)", NULL);
    (void)uv_run(&fixture.loop, UV_RUN_NOWAIT);

    relay.resets = true;
    UNTIL(&fixture, lost.count == 1);
    UNTIL(&fixture, fixture.ups == 2);

    cr_assert(eq(int, lost.outcome, DB_LOST));
    fixture_close(&fixture);
    stop_relay();
}
