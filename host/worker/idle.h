/*
 * When a host that listens goes idle, so that starts notify it, and when it stays awake and polls
 * (docs/internals/wake.md). A busy host must not go idle: each start would notify it, and commits
 * with a notification run one at a time. No clock, no loop: times are handed in.
 *
 *     state     event                                                   next
 *     deaf      the session listens                                     awake
 *     awake     begin_idle: awake, watched, asleep                      the same word
 *     watched   begin_idle: asleep                                      asleep
 *     idle      two full claims in a row, or notifications that overlap  awake, busy (end_idle)
 *     busy      nothing found for 100 ms, or no start is open           by begin_idle
 *     any       the session is lost                                     deaf
 */
#ifndef PGFLOW_WORKER_IDLE_H
#define PGFLOW_WORKER_IDLE_H

#include <stdbool.h>
#include <stdint.h>

enum idle_state {
    IDLE_DEAF,    /* no session listens: nothing notifies */
    IDLE_AWAKE,   /* nothing notifies */
    IDLE_WATCHED, /* what starts later notifies; something that was open then may not */
    IDLE_ASLEEP,  /* everything notifies that the next claim does not see */
};

enum idle_call { IDLE_CALL_NONE, IDLE_CALL_BEGIN, IDLE_CALL_TRY, IDLE_CALL_END };

struct idle {
    enum idle_state state;
    enum idle_call out; /* the call whose answer is awaited */
    bool listens;       /* it is meant to: --pooled and --no-listen do not */
    bool busy;
    uint32_t heard;     /* notifications since window_ns */
    uint32_t overlaps;  /* looks in a row that found a start open */
    uint32_t full;      /* claims in a row that came back full */
    uint64_t window_ns; /* of 100 ms */
    uint64_t found_ns;  /* the last claim that found something */
    uint64_t ask_ns;    /* not before */
};

/* The session that listens is there, or lost. */
void idle_set_listening(struct idle *idle, bool listening);

void idle_note_notification(struct idle *idle, uint64_t now_ns);
void idle_note_claim(struct idle *idle, bool found, bool full, uint64_t now_ns);

/* The call to send now, counted as sent: IDLE_CALL_BEGIN insists, IDLE_CALL_TRY does not.
 * `claims`: this host claims at all; `has_room`: it has a slot free. */
enum idle_call idle_next_call(struct idle *idle, bool claims, bool has_room, uint64_t now_ns);

/* The call was answered: `state` is the word of begin_idle, AWAKE after end_idle or when the call
 * failed. True: everything notifies from now on, and one more claim sees what came before. */
bool idle_answered(struct idle *idle, enum idle_state state, uint64_t now_ns);

/* The longest pause between two polls. */
uint32_t idle_longest_pause_ms(const struct idle *idle);

const char *idle_name(const struct idle *idle);

#endif
