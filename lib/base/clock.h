/*
 * Time: units, the clock for pauses and deadlines, the clock of the calendar, and the pause
 * between attempts. Inside a loop of libuv, uv_hrtime() reads the first of these clocks.
 */
#ifndef PGFLOW_BASE_CLOCK_H
#define PGFLOW_BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define US_PER_S UINT64_C(1000000)

/* Goes on evenly, whatever sets the time of day. */
uint64_t clock_steady_ns(void);
uint64_t clock_steady_ms(void);

/* Since 1970; may be set back or forth. */
int64_t clock_calendar_us(void);

/* Milliseconds from `now_ns` to `at_ns`, for a timer: rounded up, so that it does not ring before
 * its time; 0 when that has come. */
uint64_t clock_ms_until(uint64_t at_ns, uint64_t now_ns);

/* The pause after `failures` attempts that failed before this one: `first_ms`, doubled for each, at
 * most `longest_ms`. */
uint32_t clock_backoff_ms(uint32_t first_ms, uint32_t longest_ms, uint32_t failures);

#endif
