#include "worker/claim_depth.h"

#include "base/clock.h"
#include "base/limits.h"

enum {
    FAST_HANDLER_MS = 100,
    FAST_HANDLERS_WANTED = 20,
    SHORTEST_HANDLER_US = 500, /* clocks of handlers count milliseconds: 0 is anything below one */
    MEAN_WEIGHT = 16,
    AHEAD_US = 50 * 1000,
    AHEAD_BYTES = 32 * LIMIT_MIB,
    LIGHT_BYTES = LIMIT_MIB,
    LONGEST_POLL_MS = 1000,
};

#define PREFETCH_PAUSE_NS (60 * NS_PER_S)

static uint64_t drift(uint64_t mean, uint64_t value)
{
    return mean - mean / MEAN_WEIGHT + value / MEAN_WEIGHT;
}

void prefetch_note_handler(struct prefetch *prefetch, uint64_t ms, uint64_t input_bytes)
{
    prefetch->mean_bytes = drift(prefetch->mean_bytes, input_bytes);
    if (ms >= FAST_HANDLER_MS) {
        prefetch->fast_in_a_row = 0;
        prefetch->mean_us = FAST_HANDLER_MS * 1000;
        return;
    }
    if (prefetch->fast_in_a_row == 0)
        prefetch->mean_us = (uint32_t)ms * 1000;
    prefetch->mean_us = (uint32_t)drift(prefetch->mean_us, ms * 1000);
    if (prefetch->fast_in_a_row < FAST_HANDLERS_WANTED)
        prefetch->fast_in_a_row++;
}

void prefetch_suspend(struct prefetch *prefetch, uint64_t now_ns)
{
    prefetch->suspended_until_ns = now_ns + PREFETCH_PAUSE_NS;
}

bool prefetch_is_on(const struct prefetch *prefetch, uint64_t now_ns)
{
    return prefetch->fast_in_a_row == FAST_HANDLERS_WANTED &&
           now_ns >= prefetch->suspended_until_ns;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t less(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

uint32_t prefetch_depth(const struct prefetch *prefetch, uint32_t concurrency)
{
    uint32_t handler_us =
        prefetch->mean_us > SHORTEST_HANDLER_US ? prefetch->mean_us : SHORTEST_HANDLER_US;
    uint64_t fitting = prefetch->mean_bytes > 0 ? AHEAD_BYTES / prefetch->mean_bytes : LIMIT_BATCH;
    uint64_t depth = (uint64_t)concurrency * AHEAD_US / handler_us;

    if (depth > fitting)
        depth = fitting;
    if (depth > LIMIT_BATCH)
        depth = LIMIT_BATCH;
    return depth > concurrency ? (uint32_t)depth : concurrency;
}

bool prefetch_is_light(const struct prefetch *prefetch, uint32_t quantity)
{
    return prefetch->mean_bytes * quantity <= LIGHT_BYTES;
}

uint32_t claim_width(const struct claim_room *room)
{
    /* Two batches: while the database claims one, the runners work on the other. With one, each
     * claim finds the one before it still unworked, and all are half as wide. */
    uint32_t ahead = smaller(2 * room->batch_size, room->ahead);
    uint32_t width = less(room->concurrency + ahead, room->in_pool);
    /* Unreported results take memory as running tasks do. */
    uint32_t kept = less(2 * (room->concurrency + ahead), room->in_pool + room->unreported);

    width = smaller(smaller(width, kept), room->batch_size);
    /* With work waiting a narrow claim gains nothing: it would only make the next one narrow too.
     */
    if (room->waiting > 0 && 2 * width < smaller(room->batch_size, room->concurrency + ahead))
        return 0;
    return width;
}

uint32_t jitter_ms(uint32_t ms, uint32_t random)
{
    uint32_t quarter = ms / 4;

    return ms - quarter + random % (2 * quarter + 1);
}

uint32_t idle_backoff_next(struct idle_backoff *backoff, uint32_t random)
{
    uint32_t longest = backoff->base_ms > LONGEST_POLL_MS ? backoff->base_ms : LONGEST_POLL_MS;
    uint32_t pause = clock_backoff_ms(backoff->base_ms, longest, backoff->misses);

    if (pause < longest)
        backoff->misses++;
    /* The jitter must not go beyond the longest pause that is promised. */
    return smaller(jitter_ms(pause, random), longest);
}

void idle_backoff_reset(struct idle_backoff *backoff)
{
    backoff->misses = 0;
}

uint32_t idle_sleep_ms(uint32_t backoff_ms, int64_t due_in_ms)
{
    if (due_in_ms < 0 || due_in_ms > (int64_t)backoff_ms)
        return backoff_ms;
    return (uint32_t)due_in_ms;
}
