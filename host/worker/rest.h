/*
 * When a host that listens rests, so that starts notify it, and when it stays awake and polls
 * (docs/internals/wake.md). A host that is busy must not rest: each start would notify it, and
 * commits that notify go singly. No clock, no loop: times are handed in.
 *
 *     state     event                                                   next
 *     deaf      the session listens                                     awake
 *     awake     begin_rest: awake, watched, asleep                      the same word
 *     watched   begin_rest: asleep                                      asleep
 *     resting   two full claims in a row, or notifications that overlap  awake, busy (end_rest)
 *     busy      nothing found for 100 ms, or no start is open           by begin_rest
 *     any       the session is lost                                     deaf
 */
#ifndef PGFLOW_WORKER_REST_H
#define PGFLOW_WORKER_REST_H

#include <stdbool.h>
#include <stdint.h>

enum rest_state {
    REST_DEAF,    /* no session listens: nothing notifies */
    REST_AWAKE,   /* nothing notifies */
    REST_WATCHED, /* what starts later notifies; something that was open then may not */
    REST_ASLEEP,  /* everything notifies that the next claim does not see */
};

enum rest_call { REST_CALL_NONE, REST_CALL_BEGIN, REST_CALL_TRY, REST_CALL_END };

struct rest {
    enum rest_state state;
    enum rest_call out; /* the call whose answer is awaited */
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
void rest_set_listening(struct rest *rest, bool listening);

void rest_note_notification(struct rest *rest, uint64_t now_ns);
void rest_note_claim(struct rest *rest, bool found, bool full, uint64_t now_ns);

/* The call to send now, counted as sent: REST_CALL_BEGIN insists, REST_CALL_TRY does not.
 * `claims`: this host claims at all; `has_room`: it has a slot free. */
enum rest_call rest_next_call(struct rest *rest, bool claims, bool has_room, uint64_t now_ns);

/* The call was answered: `state` is the word of begin_rest, AWAKE after end_rest or when the call
 * failed. True: everything notifies from now on, and one more claim sees the rest. */
bool rest_answered(struct rest *rest, enum rest_state state, uint64_t now_ns);

/* The longest pause between two polls. */
uint32_t rest_longest_pause_ms(const struct rest *rest);

const char *rest_name(const struct rest *rest);

#endif
