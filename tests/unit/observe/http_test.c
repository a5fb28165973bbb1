/*
 * The HTTP server with real sockets. The clients are in the same thread as the loop, so a server
 * that waited for one of them would never come back.
 */
#include "observe/http.h"
#include "observe/listen_address.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TURNS = 3000, TURN_MS = 10 };

static uv_loop_t loop;
static struct listen_address address;
static struct http_server *server;
static struct error error;
static size_t body_size;
static unsigned asked;

static void answer(void *ctx, const char *path, struct http_response *response)
{
    (void)ctx;
    asked++;
    if (strcmp(path, "/x") != 0)
        return;
    response->status = 200;
    for (size_t i = 0; i < body_size; i++)
        buf_putc(&response->body, 'b');
}

static void setup(void)
{
    body_size = 3;
    asked = 0;
    cr_assert(zero(int, uv_loop_init(&loop)));
    cr_assert(listen_address_parse("127.0.0.1:0", &address, &error));
    server = http_server_open(&loop, &address, answer, NULL, &error);
    cr_assert(ne(ptr, server, NULL), "%s", error.text);
}

static void teardown(void)
{
    http_server_close(server);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert(zero(int, uv_loop_close(&loop)), "a handle was left");
}

TestSuite(http, .init = setup, .fini = teardown);

static int client(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    cr_assert(zero(int, connect(fd, (struct sockaddr *)&address.socket, address.size)));
    return fd;
}

static void say(int fd, const char *text)
{
    cr_assert(eq(sz, (size_t)send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text)));
}

/* What the server sends until it closes, or until `enough` is there; NULL: nothing came. */
static char *hear(int fd, const char *enough)
{
    static char text[LIMIT_HTTP_BODY + LIMIT_KIB];
    size_t size = 0;

    for (int turn = 0; turn < TURNS; turn++) {
        struct pollfd watched = {.fd = fd, .events = POLLIN};
        (void)uv_run(&loop, UV_RUN_NOWAIT);
        if (poll(&watched, 1, TURN_MS) == 0)
            continue;
        ssize_t got = recv(fd, text + size, sizeof text - 1 - size, MSG_DONTWAIT);
        if (got <= 0)
            break;
        size += (size_t)got;
        text[size] = '\0';
        if (enough != NULL && strstr(text, enough) != NULL)
            break;
    }
    return size > 0 ? text : NULL;
}

static char *ask(const char *request)
{
    int fd = client();

    say(fd, request);
    char *heard = hear(fd, NULL);
    (void)close(fd);
    cr_assert(ne(ptr, heard, NULL));
    return heard;
}

static void expect(const char *heard, const char *part)
{
    cr_assert(ne(ptr, strstr(heard, part), NULL), "no '%s' in\n%.600s", part, heard);
}

Test(http, get_answers_with_the_body_and_safe_headers)
{
    char *heard = ask("GET /x?y=1 HTTP/1.0\r\n\r\n");

    expect(heard, " 200 OK\r\n");
    expect(heard, "\r\nContent-Security-Policy: default-src 'none'\r\n");
    expect(heard, "\r\nX-Content-Type-Options: nosniff\r\n");
    expect(heard, "\r\n\r\nbbb");
}

Test(http, head_answers_without_the_body)
{
    char *heard = ask("HEAD /x HTTP/1.0\r\n\r\n");

    expect(heard, " 200 OK\r\n");
    cr_assert(eq(ptr, strstr(heard, "bbb"), NULL));
}

Test(http, another_path_is_not_found)
{
    expect(ask("GET /y HTTP/1.0\r\n\r\n"), " 404 ");
}

Test(http, other_methods_are_refused_before_their_body_is_read)
{
    char *heard = ask("POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n");

    expect(heard, " 405 ");
    expect(heard, "\r\nAllow: GET, HEAD\r\n");
    cr_assert(zero(uint, asked));
}

Test(http, a_get_with_a_body_is_answered_without_reading_it)
{
    const char *bodies[] = {"Content-Length: 1000000000\r\n\r\nh", "Content-Length: 5\r\n\r\nhello",
                            "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                            "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"};

    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        char request[200];
        snprintf(request, sizeof request, "GET /x HTTP/1.1\r\nHost: localhost\r\n%s", bodies[i]);
        char *heard = ask(request);
        expect(heard, "HTTP/1.1 200 OK\r\n");
        expect(heard, "\r\n\r\nbbb");
    }
}

Test(http, a_site_whose_name_leads_to_this_machine_reads_nothing)
{
    char *heard = ask("GET /x HTTP/1.0\r\nHost: rebound.example:9187\r\n\r\n");

    expect(heard, " 421 ");
    expect(heard, "localhost");
    cr_assert(zero(uint, asked));
    expect(ask("GET /x HTTP/1.0\r\nHost: 127.0.0.1:9187\r\n\r\n"), " 200 OK\r\n");
}

static bool has_ipv6(void)
{
    int probe = socket(AF_INET6, SOCK_STREAM, 0);

    if (probe >= 0)
        (void)close(probe);
    return probe >= 0;
}

static void listen_elsewhere(const char *where)
{
    http_server_close(server);
    cr_assert(listen_address_parse(where, &address, &error));
    server = http_server_open(&loop, &address, answer, NULL, &error);
    cr_assert(ne(ptr, server, NULL), "%s", error.text);
}

Test(http, an_address_for_other_machines_goes_by_any_name)
{
    listen_elsewhere("0.0.0.0:0");

    expect(ask("GET /x HTTP/1.0\r\nHost: worker-1.example:9187\r\n\r\n"), " 200 OK\r\n");
}

Test(http, every_address_of_ipv6_is_every_address_of_ipv4_too)
{
    if (!has_ipv6())
        cr_skip_test("this machine has no IPv6");
    listen_elsewhere("[::]:0");
    char text[LISTEN_ADDRESS_TEXT], four[LISTEN_ADDRESS_TEXT];
    listen_address_print(&address, text);
    snprintf(four, sizeof four, "127.0.0.1%s", strrchr(text, ':'));
    cr_assert(listen_address_parse(four, &address, &error));

    expect(ask("GET /x HTTP/1.0\r\n\r\n"), " 200 OK\r\n");
}

Test(http, a_request_over_its_limit_is_refused)
{
    char *request = malloc(2 * LIMIT_HTTP_REQUEST);

    memset(request, 'h', 2 * LIMIT_HTTP_REQUEST);
    memcpy(request, "GET /x HTTP/1.0\r\nA: ", 20);
    memcpy(request + 2 * LIMIT_HTTP_REQUEST - 5, "\r\n\r\n", 5);
    int fd = client();
    say(fd, request);
    free(request);

    char *heard = hear(fd, NULL);
    (void)close(fd);
    expect(heard != NULL ? heard : "", " 431 ");
    cr_assert(zero(uint, asked));
}

Test(http, a_body_over_its_limit_is_an_error_and_no_half_body)
{
    body_size = LIMIT_HTTP_BODY + 1;

    char *heard = ask("GET /x HTTP/1.0\r\n\r\n");
    expect(heard, " 500 ");
    expect(heard, "longer than this host may give");
    cr_assert(eq(ptr, strstr(heard, "bbb"), NULL));
}

Test(http, the_largest_body_arrives_whole)
{
    body_size = LIMIT_HTTP_BODY;

    char *heard = ask("GET /x HTTP/1.0\r\n\r\n");
    expect(heard, " 200 OK\r\n");
    cr_assert(eq(sz, strlen(strstr(heard, "\r\n\r\n") + 4), LIMIT_HTTP_BODY));
}

Test(http, slow_clients_hold_up_nobody)
{
    body_size = LIMIT_HTTP_BODY;
    int half_asked = client(), not_reading = client();
    say(half_asked, "GET /x HT");
    say(not_reading, "GET /x HTTP/1.0\r\n\r\n");
    while (asked == 0)
        (void)uv_run(&loop, UV_RUN_ONCE);
    body_size = 3;

    expect(ask("GET /x HTTP/1.0\r\n\r\n"), "\r\n\r\nbbb");
    (void)close(half_asked);
    (void)close(not_reading);
}

/* All places are taken by clients that were answered once and keep their connection. */
static void fill(int held[LIMIT_HTTP_CONNECTIONS])
{
    for (int i = 0; i < LIMIT_HTTP_CONNECTIONS; i++) {
        held[i] = client();
        say(held[i], "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
        expect(hear(held[i], "bbb"), " 200 OK");
    }
}

static void close_all(const int held[LIMIT_HTTP_CONNECTIONS])
{
    for (int i = 0; i < LIMIT_HTTP_CONNECTIONS; i++)
        (void)close(held[i]);
}

Test(http, a_client_is_served_though_all_places_are_held_by_requests_that_never_end)
{
    int held[LIMIT_HTTP_CONNECTIONS];
    for (int i = 0; i < LIMIT_HTTP_CONNECTIONS; i++) {
        held[i] = client();
        say(held[i], "GET /x HTTP/1.1\r\nA: ");
        (void)uv_run(&loop, UV_RUN_ONCE);
    }

    expect(ask("GET /x HTTP/1.0\r\n\r\n"), "\r\n\r\nbbb");
    cr_assert(eq(ptr, hear(held[0], NULL), NULL), "the first one was answered");
    say(held[1], "a\r\nHost: localhost\r\n\r\n");
    expect(hear(held[1], "bbb"), " 200 OK");
    close_all(held);
}

Test(http, the_place_of_a_new_client_is_that_of_the_one_answered_longest_ago)
{
    int held[LIMIT_HTTP_CONNECTIONS];
    fill(held);
    say(held[0], "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(hear(held[0], "bbb"), " 200 OK");

    expect(ask("GET /x HTTP/1.0\r\n\r\n"), "\r\n\r\nbbb");
    cr_assert(eq(ptr, hear(held[1], NULL), NULL));
    say(held[0], "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(hear(held[0], "bbb"), " 200 OK");
    close_all(held);
}

Test(http, a_crowd_at_once_is_bounded_and_served)
{
    int held[LIMIT_HTTP_CONNECTIONS], crowd[LIMIT_HTTP_CONNECTIONS];
    fill(held);
    for (int i = 0; i < LIMIT_HTTP_CONNECTIONS; i++) {
        crowd[i] = client();
        say(crowd[i], "GET /x HTTP/1.0\r\n\r\n");
    }

    for (int i = 0; i < LIMIT_HTTP_CONNECTIONS; i++)
        expect(hear(crowd[i], NULL), "\r\n\r\nbbb");
    close_all(held);
    close_all(crowd);
}

static void limit_descriptors(rlim_t number)
{
    struct rlimit limit;

    cr_assert(zero(int, getrlimit(RLIMIT_NOFILE, &limit)));
    limit.rlim_cur = number;
    cr_assert(zero(int, setrlimit(RLIMIT_NOFILE, &limit)));
}

/* A connection waits in the kernel's queue while nothing can be opened. */
static int connect_without_descriptors(struct rlimit *before)
{
    int waiting = client();
    int lowest_free = dup(waiting);

    cr_assert(zero(int, getrlimit(RLIMIT_NOFILE, before)));
    (void)close(lowest_free);
    limit_descriptors((rlim_t)lowest_free);
    say(waiting, "GET /x HTTP/1.0\r\n\r\n");
    return waiting;
}

Test(http, a_shortage_of_descriptors_is_waited_out_without_a_busy_loop)
{
    struct rlimit before;
    int waiting = connect_without_descriptors(&before);

    for (int turn = 0; turn < 20; turn++)
        (void)uv_run(&loop, UV_RUN_NOWAIT);
    cr_assert(zero(uint, asked));
    cr_assert(gt(int, uv_backend_timeout(&loop), 0), "the loop would not sleep");

    limit_descriptors(before.rlim_cur);
    expect(hear(waiting, NULL), "\r\n\r\nbbb");
    (void)close(waiting);
}

Test(http, a_shortage_of_descriptors_costs_the_connection_answered_longest_ago)
{
    struct rlimit before;
    int kept = client();
    say(kept, "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(hear(kept, "bbb"), " 200 OK");
    int waiting = connect_without_descriptors(&before);

    expect(hear(waiting, NULL), "\r\n\r\nbbb");
    limit_descriptors(before.rlim_cur);
    (void)close(waiting);
    (void)close(kept);
}

Test(http, a_client_that_says_nothing_is_dropped)
{
    char byte;
    int silent = client();

    cr_assert(eq(ptr, hear(silent, NULL), NULL));
    cr_assert(zero(long, (long)recv(silent, &byte, 1, 0)), "the server has not closed it");
    (void)close(silent);
}

Test(http, a_port_that_is_taken_says_what_to_do)
{
    struct listen_address same = address;

    cr_assert(eq(ptr, http_server_open(&loop, &same, answer, NULL, &error), NULL));
    cr_assert(eq(int, error.code, ERROR_CONFIG));
    expect(error.text, "a port of its own");
}

Test(http, an_address_of_another_machine_says_what_to_do)
{
    struct listen_address other;

    cr_assert(listen_address_parse("192.0.2.1:0", &other, &error));
    cr_assert(eq(ptr, http_server_open(&loop, &other, answer, NULL, &error), NULL));
    cr_assert(eq(int, error.code, ERROR_CONFIG));
    expect(error.text, "an address that this machine has");

    if (!has_ipv6())
        return;
    cr_assert(listen_address_parse("[fe80::1]:0", &other, &error));
    cr_assert(eq(ptr, http_server_open(&loop, &other, answer, NULL, &error), NULL));
    expect(error.text, "of one link");
}
