/*
 * Why this host stands by: what the database said of it, for the log, /readyz, the status page and
 * the metrics. It may change while the host stands by: after a deployment an old build that was
 * disabled has the wrong modules.
 */
#include "worker/worker_private.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_view.h"
#include "log/log.h"

const char *standby_why(enum db_fence_reason reason)
{
    switch (reason) {
    case DB_FENCE_PAUSED:
        return "the function was paused after unsupported work";
    case DB_FENCE_WRONG_MODULES:
        return "wrong_modules: the applied manifest gives the function to other modules";
    case DB_FENCE_NOT_IN_MANIFEST:
        return "not_in_manifest: no applied manifest names the function for this queue";
    case DB_FENCE_DISABLED:
    case DB_FENCE_NONE:
        break;
    }
    return "the function is disabled";
}

bool standby_is_in_order(const struct worker *worker)
{
    const struct standby *standby = &worker->standby;

    if (worker->standby.for_gap)
        return false;
    return standby->is_awaited || (standby->reason != DB_FENCE_WRONG_MODULES &&
                                   standby->reason != DB_FENCE_NOT_IN_MANIFEST);
}

/* Slugs need no escapes. */
static void put_slug(struct buf *text, struct json_view pair, const char *name)
{
    struct json_view slug;

    if (json_view_member(pair, name, &slug) && slug.text[0] == '"')
        buf_put(text, slug.text + 1, slug.size - 2);
}

/* The steps that a host read and could not run, as the guard noted them. */
static void put_unsupported(struct buf *text, const char *pause_reason)
{
    struct json_view reason, pairs, pair;
    struct error error;
    size_t shown = 0;

    if (pause_reason == NULL ||
        !json_view_open(&reason, pause_reason, strlen(pause_reason), &error) ||
        !json_view_member(reason, "pairs", &pairs) || pairs.text[0] != '[')
        return;
    for (struct json_walk walk = json_view_walk(pairs);
         shown < LIMIT_MISSING_PAIRS_SHOWN && json_walk_element(&walk, &pair); shown++) {
        buf_puts(text, shown == 0 ? ": no module for " : ", ");
        put_slug(text, pair, "flowSlug");
        buf_putc(text, '.');
        put_slug(text, pair, "stepSlug");
    }
}

static void put_pause(char *word, size_t size, const struct db_fence *fence)
{
    struct buf text;

    buf_init(&text, LIMIT_LOG_VALUE / 2);
    put_unsupported(&text, fence->pause_reason);
    snprintf(word, size, "standing by: %s%s%s%s", standby_why(fence->reason), text.data,
             fence->detail != NULL ? "; " : "", fence->detail != NULL ? fence->detail : "");
    buf_free(&text);
}

static void put_word(char *word, size_t size, const struct db_fence *fence)
{
    const char *why = fence->reason == DB_FENCE_DISABLED ? "the worker function is disabled"
                                                         : standby_why(fence->reason);

    if (fence->stands_by_for != NULL)
        snprintf(word, size, "standing by: %s", fence->detail != NULL ? fence->detail : why);
    else if (fence->reason == DB_FENCE_PAUSED)
        put_pause(word, size, fence);
    else if (fence->detail != NULL && fence->reason != DB_FENCE_DISABLED)
        snprintf(word, size, "standing by: %s: %s", db_fence_reason_name(fence->reason),
                 fence->detail);
    else if (fence->detail != NULL)
        snprintf(word, size, "standing by: %s: %s", why, fence->detail);
    else
        snprintf(word, size, "standing by: %s", why);
}

static void log_disabled(const struct worker *worker, const struct db_fence *fence)
{
    char text[512 + LIMIT_FUNCTION_NAME];

    snprintf(text, sizeof text,
             fence->reason == DB_FENCE_PAUSED && fence->detail != NULL
                 ? "the function was paused because a host of it read work that it cannot do. "
                   "Deploy the missing module or repair the route, look at pgflowctl coverage %s, "
                   "then fence again (pgflowctl rollout MANIFEST fence), for an open deployment "
                   "has fenced %s, and ends that when it is applied or aborted"
             : fence->reason == DB_FENCE_PAUSED
                 ? "the function was paused because a host of it read work that it cannot do. "
                   "Deploy the missing module or repair the route, look at pgflowctl coverage %s, "
                   "then enable it: pgflowctl functions enable %s"
             : fence->detail != NULL
                 ? "the function of queue %s is disabled: an open deployment has fenced %s, and "
                   "ends that when it is applied or aborted"
                 : "the function of queue %s is disabled; enable it: pgflowctl functions enable %s",
             worker->queue, worker->function);
    log_warn("disabled", text, LOG_QUEUE(worker->queue),
             LOG_FIELD_TEXT("function", worker->function), LOG_FIELD_TEXT("detail", fence->detail),
             LOG_FIELD_TEXT("paused_at", fence->paused_at),
             LOG_FIELD_TEXT("pause_reason", fence->pause_reason));
}

static void log_fence(const struct worker *worker, const struct db_fence *fence)
{
    const char *detail = fence->detail != NULL ? fence->detail : standby_why(fence->reason);

    if (fence->stands_by_for != NULL)
        log_info("awaited", detail, LOG_QUEUE(worker->queue),
                 LOG_FIELD_TEXT("function", worker->function),
                 LOG_FIELD_TEXT("deployment", fence->stands_by_for),
                 LOG_FIELD_TEXT("reason", db_fence_reason_name(fence->reason)));
    else if (fence->reason == DB_FENCE_WRONG_MODULES)
        log_warn("wrong_modules",
                 "this host carries other modules than the applied manifest gives; it stands by. "
                 "Deploy the right ones, or for a hot fix: pgflowctl functions unpin",
                 LOG_QUEUE(worker->queue), LOG_FIELD_TEXT("function", worker->function),
                 LOG_FIELD_TEXT("detail", detail));
    else if (fence->reason == DB_FENCE_NOT_IN_MANIFEST)
        log_warn("not_in_manifest",
                 "no applied manifest names this host's function for the queue; it stands by. "
                 "Start it with the --function that a manifest names, or name it in one",
                 LOG_QUEUE(worker->queue), LOG_FIELD_TEXT("function", worker->function),
                 LOG_FIELD_TEXT("detail", detail));
    else
        log_disabled(worker, fence);
}

void standby_explain(struct worker *worker, const struct db_fence *fence)
{
    struct standby *standby = &worker->standby;
    char word[sizeof standby->word];

    put_word(word, sizeof word, fence);
    bool is_news = !standby->is_explained || standby->reason != fence->reason ||
                   strcmp(standby->word, word) != 0;
    standby->is_explained = true;
    standby->reason = fence->reason;
    standby->is_awaited = fence->stands_by_for != NULL;
    memcpy(standby->word, word, sizeof word);
    if (is_news)
        log_fence(worker, fence);
}
