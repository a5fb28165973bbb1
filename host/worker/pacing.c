#include "worker/pacing.h"

enum {
    FAST_HANDLER_MS = 100,
    FAST_HANDLERS_WANTED = 20,
    LONGEST_POLL_MS = 1000,
};

#define PREFETCH_PAUSE_NS (60 * UINT64_C(1000000000))

void prefetch_note_handler(struct prefetch *prefetch, uint64_t ms)
{
    if (ms >= FAST_HANDLER_MS)
        prefetch->fast_in_a_row = 0;
    else if (prefetch->fast_in_a_row < FAST_HANDLERS_WANTED)
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

uint32_t claim_width(const struct claim_room *room)
{
    uint32_t ahead = room->prefetch ? smaller(room->batch_size, room->concurrency) : 0;
    uint32_t width = less(room->concurrency + ahead, room->in_pool);
    /* Unreported results hold memory as running tasks do. */
    uint32_t kept = less(2 * (room->concurrency + ahead), room->in_pool + room->unreported);

    width = smaller(smaller(width, kept), room->batch_size);
    /* With work waiting a narrow claim gains nothing: it would only make the next one narrow too.
     */
    if (room->waiting > 0 && 2 * width < smaller(room->batch_size, room->concurrency))
        return 0;
    return width;
}

uint32_t pacing_jitter(uint32_t ms, uint32_t random)
{
    uint32_t quarter = ms / 4;

    return ms - quarter + random % (2 * quarter + 1);
}

uint32_t idle_backoff_next(struct idle_backoff *backoff, uint32_t random)
{
    uint32_t longest = backoff->base_ms > LONGEST_POLL_MS ? backoff->base_ms : LONGEST_POLL_MS;
    uint32_t pause = backoff->base_ms;

    for (uint32_t i = 0; i < backoff->misses && pause < longest; i++)
        pause *= 2;
    if (pause < longest)
        backoff->misses++;
    /* The jitter must not go beyond the longest pause that is promised. */
    return smaller(pacing_jitter(smaller(pause, longest), random), longest);
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
