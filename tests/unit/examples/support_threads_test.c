/* The steps of support_threads in this process, against sockets that answer what a test says. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <pgflow/testkit.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define URGENT                                                                                     \
    "{\"id\": \"T-1\", \"subject\": \"Checkout\", \"category\": \"outage\", \"because\": []}"

/* One connection gets this answer, whatever it asks. */
struct answering {
    int listener;
    const char *answer;
    pthread_t thread;
};

/* A socket that takes connections and says nothing; its address goes to SUPPORT_WEBHOOK_URL. */
static int listen_silently(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    char url[64];
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, size), 0);
    cr_assert_eq(listen(listener, 1), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/secret", ntohs(address.sin_port));
    setenv("SUPPORT_WEBHOOK_URL", url, 1);
    return listener;
}

static void *answer_once(void *context)
{
    const struct answering *one = context;
    char asked[4096];
    size_t size = 0;
    int peer = accept(one->listener, NULL, NULL);
    /* Up to the end of the body, which is the only place with that text. */
    while (size == 0 || memmem(asked, size, "[T-1]\"}", 7) == NULL) {
        ssize_t n = read(peer, asked + size, sizeof asked - size);
        if (n <= 0)
            break;
        size += (size_t)n;
    }
    if (write(peer, one->answer, strlen(one->answer)) < 0)
        perror("write");
    close(peer);
    return NULL;
}

static pgf_test *opened(void)
{
    pgf_test *flow = pgf_test_open(SUPPORT_THREADS);
    cr_assert_null(pgf_test_problem(flow), "%s", pgf_test_problem(flow));
    return flow;
}

/* One delivery that is answered so; the flow, to be asked how it went. */
static pgf_test *delivered(const char *answer, int32_t result)
{
    struct answering one = {.listener = listen_silently(), .answer = answer};
    cr_assert_eq(pthread_create(&one.thread, NULL, answer_once, &one), 0);
    pgf_test *flow = opened();
    int32_t found = pgf_test_call(flow, "deliver_slack_alerts", URGENT);
    pthread_join(one.thread, NULL);
    close(one.listener);
    cr_assert_eq(found, result, "%d: %s", found, pgf_test_error(flow));
    cr_assert_null(strstr(pgf_test_error(flow), "127.0.0.1"));
    return flow;
}

Test(support_threads, waits_as_long_as_the_webhook_asks)
{
    pgf_test *flow = delivered("HTTP/1.1 429 Slow down\r\nRetry-After: 7\r\n"
                               "Content-Length: 0\r\nConnection: close\r\n\r\n",
                               PGF_ERROR);
    cr_assert_eq(pgf_test_retry_after(flow), 7);
    pgf_test_close(flow);
}

Test(support_threads, leaves_the_wait_to_the_backoff_where_the_webhook_asks_for_none)
{
    pgf_test *flow =
        delivered("HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", PGF_ERROR);
    cr_assert_eq(pgf_test_retry_after(flow), -1);
    cr_assert_str_eq(pgf_test_error(flow), "the webhook asks to try later: HTTP 500");
    pgf_test_close(flow);
}

Test(support_threads, follows_no_redirect)
{
    pgf_test *flow = delivered("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"
                               "Content-Length: 0\r\nConnection: close\r\n\r\n",
                               PGF_PERMANENT);
    cr_assert_str_eq(pgf_test_error(flow), "the webhook refused the alert: HTTP 302");
    pgf_test_close(flow);
}

Test(support_threads, tries_again_when_the_webhook_hangs_up)
{
    pgf_test *flow = delivered("", PGF_ERROR);
    cr_assert_not_null(strstr(pgf_test_error(flow), "the webhook cannot be reached: "));
    pgf_test_close(flow);
}

Test(support_threads, drops_a_request_that_is_cancelled_while_the_webhook_is_silent)
{
    int listener = listen_silently();
    pgf_test *flow = opened();
    pgf_test_cancel_at(flow, 3);

    cr_assert_eq(pgf_test_call(flow, "deliver_slack_alerts", URGENT), PGF_CANCELLED);

    pgf_test_close(flow);
    close(listener);
}

Test(support_threads, names_the_option_that_is_missing_where_there_is_no_address)
{
    unsetenv("SUPPORT_WEBHOOK_URL");
    pgf_test *flow = opened();

    cr_assert_eq(pgf_test_call(flow, "deliver_slack_alerts", URGENT), PGF_ERROR);

    cr_assert_not_null(strstr(pgf_test_error(flow), "--pass-env SUPPORT_WEBHOOK_URL"));
    pgf_test_close(flow);
}

Test(support_threads, posts_by_http_and_https_only)
{
    setenv("SUPPORT_WEBHOOK_URL", "file:///etc/hostname", 1);
    pgf_test *flow = opened();

    cr_assert_eq(pgf_test_call(flow, "deliver_slack_alerts", URGENT), PGF_PERMANENT);

    cr_assert_str_eq(pgf_test_error(flow), "SUPPORT_WEBHOOK_URL is no http or https address");
    pgf_test_close(flow);
}

Test(support_threads, refuses_threads_that_it_cannot_tell_apart_or_read)
{
    static const struct {
        const char *input, *error;
    } cases[] = {
        {"[]", "the run's input has no list \"threads\""},
        {"{\"threads\": [{\"id\": \"\", \"messages\": []}]}", "threads[0] has no text \"id\""},
        {"{\"threads\": [{\"id\": \"a\"}]}", "threads[0] has no list \"messages\""},
        {"{\"threads\": [{\"id\": \"a\", \"subject\": 1, \"messages\": []}]}",
         "threads[0] has a \"subject\" or \"link\" that is no text"},
        {"{\"threads\": [{\"id\": \"a\", \"messages\": []}, {\"id\": \"b\", \"messages\": "
         "[{\"from\": \"bot\", \"text\": \"\"}]}]}",
         "threads[1] has a message whose \"from\" is neither \"customer\" nor \"agent\""},
        {"{\"threads\": [{\"id\": \"a\", \"messages\": [{\"from\": \"agent\"}]}]}",
         "threads[0] has a message without a text \"text\""},
        {"{\"threads\": [{\"id\": \"a\", \"messages\": []}, {\"id\": \"b\", \"messages\": []}, "
         "{\"id\": \"a\", \"messages\": []}]}",
         "two threads have the same \"id\""},
    };
    pgf_test *flow = opened();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_eq(pgf_test_call(flow, "load_threads", cases[i].input), PGF_PERMANENT);
        cr_expect_str_eq(pgf_test_error(flow), cases[i].error);
    }
    pgf_test_close(flow);
}

Test(support_threads, finds_phrases_as_whole_words_whatever_the_case_and_the_apostrophe)
{
    pgf_test *flow = opened();

    cr_assert_eq(pgf_test_call(flow, "classify_threads",
                               "{\"id\": \"a\", \"messages\": [{\"from\": \"customer\", \"text\": "
                               "\"I CAN\\u2019T  log\\nin; passwords, \\u00e9asap\"}]}"),
                 PGF_OK);

    cr_assert_str_eq(pgf_test_output(flow),
                     "{\"id\":\"a\",\"subject\":\"\",\"category\":\"account\",\"urgency\":"
                     "\"normal\",\"score\":3,\"waiting\":1,\"because\":[\"can't log in\"]}");
    pgf_test_close(flow);
}

Test(support_threads, picks_the_urgent_ones_by_score_then_by_id)
{
    pgf_test *flow = opened();

    cr_assert_eq(pgf_test_call(flow, "pick_urgent",
                               "{\"classify_threads\": ["
                               "{\"id\": \"d\", \"urgency\": \"urgent\", \"score\": 6},"
                               "{\"id\": \"c\", \"urgency\": \"high\", \"score\": 5},"
                               "{\"id\": \"b\", \"urgency\": \"urgent\", \"score\": 6},"
                               "{\"id\": \"a\", \"urgency\": \"urgent\", \"score\": 9}]}"),
                 PGF_OK);

    cr_assert_str_eq(pgf_test_output(flow), "[{\"id\":\"a\",\"urgency\":\"urgent\",\"score\":9},"
                                            "{\"id\":\"b\",\"urgency\":\"urgent\",\"score\":6},"
                                            "{\"id\":\"d\",\"urgency\":\"urgent\",\"score\":6}]");
    pgf_test_close(flow);
}
