#include "base/clock.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

Test(clock, milliseconds_until_a_time_are_rounded_up)
{
    cr_assert(eq(u64, clock_ms_until(5, 5), 0));
    cr_assert(eq(u64, clock_ms_until(4, 5), 0));
    cr_assert(eq(u64, clock_ms_until(6, 5), 1));
    cr_assert(eq(u64, clock_ms_until(NS_PER_MS, 0), 1));
    cr_assert(eq(u64, clock_ms_until(NS_PER_MS + 1, 0), 2));
    cr_assert(eq(u64, clock_ms_until(UINT64_MAX, 0), UINT64_MAX / NS_PER_MS + 1));
}

Test(clock, backoff_doubles_up_to_the_longest_pause)
{
    cr_assert(eq(u32, clock_backoff_ms(50, 1000, 0), 50));
    cr_assert(eq(u32, clock_backoff_ms(50, 1000, 1), 100));
    cr_assert(eq(u32, clock_backoff_ms(50, 1000, 4), 800));
    cr_assert(eq(u32, clock_backoff_ms(50, 1000, 5), 1000));
    cr_assert(eq(u32, clock_backoff_ms(50, 1000, UINT32_MAX), 1000));
    cr_assert(eq(u32, clock_backoff_ms(5000, 1000, 0), 1000));
    cr_assert(eq(u32, clock_backoff_ms(UINT32_MAX - 1, UINT32_MAX, 1), UINT32_MAX));
}

Test(clock, steady_clock_agrees_with_itself_and_goes_on)
{
    uint64_t begin_ms = clock_steady_ms();
    uint64_t ns = clock_steady_ns();

    cr_assert(ge(u64, ns / NS_PER_MS, begin_ms));
    cr_assert(le(u64, ns / NS_PER_MS, clock_steady_ms()));
    cr_assert(gt(i64, clock_calendar_us(), INT64_C(1700000000) * (int64_t)US_PER_S));
}
