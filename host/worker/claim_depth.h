/*
 * How much to claim and when: the width of the next claim, whether tasks may be claimed ahead of
 * free slots, how long an idle queue is left alone. No clock, no loop: times are handed in.
 */
#ifndef PGFLOW_WORKER_CLAIM_DEPTH_H
#define PGFLOW_WORKER_CLAIM_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Prefetch: only while the last 20 handlers took under 100 ms each, so that a task claimed ahead
 * starts well within the 5 s that it may wait; a release for lateness ends it for 60 s.
 */
struct prefetch {
    uint32_t fast_in_a_row;
    uint32_t mean_us;    /* of the handlers, the latest weigh most */
    uint64_t mean_bytes; /* of their inputs, likewise */
    uint64_t suspended_until_ns;
};

void prefetch_note_handler(struct prefetch *prefetch, uint64_t ms, uint64_t input_bytes);
void prefetch_suspend(struct prefetch *prefetch, uint64_t now_ns);
bool prefetch_is_on(const struct prefetch *prefetch, uint64_t now_ns);

/*
 * How many tasks to claim beyond the free slots while prefetch is on: what the slots do in 50 ms,
 * at least one task a slot. Short handlers get deep claims, because a claim costs the database
 * about as much as thirty tasks; long ones leave their tasks to other hosts. Large inputs are
 * claimed ahead up to 32 MiB together.
 */
uint32_t prefetch_depth(const struct prefetch *prefetch, uint32_t concurrency);

/* Inputs of a claim of `quantity` that are too small, together, to keep a heartbeat waiting. */
bool prefetch_is_light(const struct prefetch *prefetch, uint32_t quantity);

/* What a claim is sized by. */
struct claim_room {
    uint32_t concurrency, batch_size;
    uint32_t in_pool;    /* tasks whose handler runs or waits to run */
    uint32_t waiting;    /* of these: waits */
    uint32_t unreported; /* results not yet acknowledged */
    uint32_t ahead;      /* prefetch_depth(); 0: no prefetch */
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
uint32_t jitter_ms(uint32_t ms, uint32_t random);

#endif
