/* SPDX-License-Identifier: Apache-2.0
 * Errors are curl_easy_strerror()'s: those of CURLOPT_ERRORBUFFER name host and address. */
#include "webhook.h"

#include "call_error.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define URL_VARIABLE "SUPPORT_WEBHOOK_URL"

enum {
    KEY_BYTES = 256,
    CONNECT_MS = 5000,
    LONGEST_MS = 30000, /* where the call has no deadline */
    MARGIN_MS = 500,    /* before the deadline, so that the error says what was late */
    LONGEST_WAIT_S = 86400,
};

struct webhook {
    CURL *easy;
    const char *url; /* of the environment; NULL: not given */
};

void *webhook_create(void)
{
    struct webhook *webhook = calloc(1, sizeof *webhook);
    if (webhook == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(webhook);
        return NULL;
    }
    webhook->easy = curl_easy_init();
    webhook->url = getenv(URL_VARIABLE);
    if (webhook->easy != NULL)
        return webhook;
    webhook_destroy(webhook);
    return NULL;
}

void webhook_destroy(void *state)
{
    struct webhook *webhook = state;
    curl_easy_cleanup(webhook->easy);
    curl_global_cleanup();
    free(webhook);
}

/* The answer's text is nobody's business here; it is read so that the connection can be kept. */
/* libcurl fixes the type. NOLINTNEXTLINE(readability-non-const-parameter) */
static size_t drop(char *data, size_t size, size_t count, void *context)
{
    (void)data;
    (void)context;
    return size * count;
}

/* libcurl asks at least once a second, also while it waits. */
static int stop_if_cancelled(void *context, curl_off_t down, curl_off_t down_now, curl_off_t up,
                             curl_off_t up_now)
{
    const pgf_call *call = context;
    (void)down, (void)down_now, (void)up, (void)up_now;
    return call->is_cancelled(call) != 0;
}

/* Milliseconds that the request may take; 0: none are left. */
static long time_left_ms(const pgf_call *call)
{
    struct timespec now;
    if (call->deadline_ns == 0)
        return LONGEST_MS;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    uint64_t end_ms = call->deadline_ns / 1000000;
    if (end_ms <= now_ms + MARGIN_MS)
        return 0;
    uint64_t left = end_ms - now_ms - MARGIN_MS;
    return left < LONGEST_MS ? (long)left : LONGEST_MS;
}

/* False: libcurl did not take one of them. Redirects are not followed: they would carry the
 * alert to where nobody configured. */
static bool set_options(const struct webhook *webhook, const pgf_call *call,
                        struct curl_slist *headers, const char *json, long limit_ms)
{
    CURL *easy = webhook->easy;
    long connect_ms = limit_ms < CONNECT_MS ? limit_ms : CONNECT_MS;
    curl_easy_reset(easy); /* keeps the connection */
    return curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_URL, webhook->url) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDS, json) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, limit_ms) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, stop_if_cancelled) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_XFERINFODATA, call) == CURLE_OK;
}

static int32_t perform_problem(const pgf_call *call, CURLcode code)
{
    switch (code) {
    case CURLE_ABORTED_BY_CALLBACK:
        return PGF_CANCELLED;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return call_error(call, PGF_PERMANENT, URL_VARIABLE " is no http or https address");
    default:
        return call_error(call, PGF_ERROR, "the webhook cannot be reached: %s",
                          curl_easy_strerror(code));
    }
}

/* Too early, too many, too slow, or trouble of its own: it may pass. Anything else is an answer
 * to what was sent, and the same would get the same. */
static bool may_pass(long status)
{
    return status == 408 || status == 425 || status == 429 || status >= 500;
}

static int32_t judge(const pgf_call *call, CURL *easy, long *status)
{
    curl_off_t wait_s = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, status);
    if (*status >= 200 && *status < 300)
        return PGF_OK;
    if (!may_pass(*status))
        return call_error(call, PGF_PERMANENT, "the webhook refused the alert: HTTP %ld", *status);
    /* Retry-After, in seconds or as a date; 0: not given, the step's backoff decides. */
    curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait_s);
    if (wait_s > 0)
        call->retry_after(call, wait_s < LONGEST_WAIT_S ? (uint32_t)wait_s : LONGEST_WAIT_S);
    return call_error(call, PGF_ERROR, "the webhook asks to try later: HTTP %ld", *status);
}

static struct curl_slist *make_headers(const char *key)
{
    char line[KEY_BYTES + sizeof "Idempotency-Key: "];
    (void)snprintf(line, sizeof line, "Idempotency-Key: %s", key);
    struct curl_slist *type = curl_slist_append(NULL, "Content-Type: application/json");
    struct curl_slist *both = type != NULL ? curl_slist_append(type, line) : NULL;
    if (both == NULL)
        curl_slist_free_all(type);
    return both;
}

int32_t webhook_post(struct webhook *webhook, const pgf_call *call, const char *key,
                     const char *json, long *status)
{
    long limit_ms = time_left_ms(call);
    if (webhook->url == NULL || webhook->url[0] == '\0')
        return call_error(call, PGF_ERROR,
                          URL_VARIABLE " is not set: set it for the host, and start that with "
                                       "--pass-env " URL_VARIABLE);
    if (limit_ms == 0)
        return call_error(call, PGF_ERROR, "no time is left to reach the webhook");
    struct curl_slist *headers = make_headers(key);
    int32_t answer = PGF_ERROR;
    if (headers == NULL || !set_options(webhook, call, headers, json, limit_ms)) {
        answer = call_error(call, PGF_ERROR, "libcurl does not take the request");
    } else {
        CURLcode code = curl_easy_perform(webhook->easy);
        answer =
            code == CURLE_OK ? judge(call, webhook->easy, status) : perform_problem(call, code);
    }
    curl_easy_reset(webhook->easy); /* it would keep pointers into this call */
    curl_slist_free_all(headers);
    return answer;
}
