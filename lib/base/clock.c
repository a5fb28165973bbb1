#include "base/clock.h"

#include <time.h>

uint64_t clock_steady_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t clock_steady_ms(void)
{
    return clock_steady_ns() / NS_PER_MS;
}

int64_t clock_calendar_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * (int64_t)US_PER_S + now.tv_nsec / (int64_t)NS_PER_US;
}

uint64_t clock_ms_until(uint64_t at_ns, uint64_t now_ns)
{
    return at_ns <= now_ns ? 0 : (at_ns - now_ns - 1) / NS_PER_MS + 1;
}

uint32_t clock_backoff_ms(uint32_t first_ms, uint32_t longest_ms, uint32_t failures)
{
    uint64_t pause_ms = first_ms;

    for (uint32_t i = 0; i < failures && pause_ms < longest_ms; i++)
        pause_ms *= 2;
    return pause_ms < longest_ms ? (uint32_t)pause_ms : longest_ms;
}
