/*
 * How much to claim and when: the width of the next claim, whether tasks may be claimed ahead of
 * free slots, how long an idle queue is left alone. No clock, no loop: times are handed in.
 */
#ifndef PGFLOW_WORKER_PACING_H
#define PGFLOW_WORKER_PACING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Prefetch: only while the last 20 handlers took under 100 ms each, so that a task claimed ahead
 * starts well within the 5 s that it may wait; a release for lateness ends it for 60 s.
 */
struct prefetch {
    uint32_t fast_in_a_row;
    uint64_t suspended_until_ns;
};

void prefetch_note_handler(struct prefetch *prefetch, uint64_t ms);
void prefetch_suspend(struct prefetch *prefetch, uint64_t now_ns);
bool prefetch_is_on(const struct prefetch *prefetch, uint64_t now_ns);

/* What a claim is sized by. */
struct claim_room {
    uint32_t concurrency, batch_size;
    uint32_t in_pool;    /* tasks whose handler runs or waits to run */
    uint32_t waiting;    /* of these: waits */
    uint32_t unreported; /* results not yet acknowledged */
    bool prefetch;
};

/* 0: no claim now. */
uint32_t claim_width(const struct claim_room *room);

/*
 * The pause between polls of an idle queue: doubles from `base_ms` to 1 s (or stays at a larger
 * base), each with a jitter of a quarter around it so that hosts do not poll in step.
 */
struct idle_backoff {
    uint32_t base_ms;
    uint32_t misses;
};

/* `random`: any 32 random bits. */
uint32_t idle_backoff_next(struct idle_backoff *backoff, uint32_t random);
void idle_backoff_reset(struct idle_backoff *backoff);

/* How long an empty claim lets the host sleep: until the next message is due, when that is sooner
 * than the backoff. `due_in_ms` below 0: none waits. */
uint32_t idle_sleep_ms(uint32_t backoff_ms, int64_t due_in_ms);

/* 1/4 of `ms` up or down. */
uint32_t pacing_jitter(uint32_t ms, uint32_t random);

#endif
