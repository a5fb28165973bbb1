/*
 * When to look how closely; see residue.h.
 */
#include "runner/residue.h"

#include "runner/residue_parts.h"
#include "runner/watched_calls.h"

/* A deep look takes some tens of microseconds. */
enum { DEEP_EVERY = 64, DEEP_AFTER_US = 1000 };

static bool grows, always_deep;
static uint64_t tasks;

void residue_open(bool may_grow)
{
    grows = may_grow;
    always_deep = !watched_calls_work();
    growth_open();
    put_back_note();
    memory_note();
    kernel_note();
}

void residue_begin(void)
{
    (void)watched_calls_seen();
}

uint32_t residue_clear(uint64_t elapsed_us)
{
    bool first = tasks == 0;
    bool deep = watched_calls_seen() || always_deep || elapsed_us >= DEEP_AFTER_US ||
                tasks % DEEP_EVERY == 0;
    uint32_t left = 0;

    tasks++;
    if (deep)
        put_back_timers();
    left |= put_back_quick() | memory_changed();
    if (deep)
        left |= put_back_deep() | kernel_changed();
    if (first)
        growth_note();
    else if (!grows)
        left |= growth_quick() | (deep ? growth_deep() : 0);
    return left;
}
