#include "worker/rest.h"

enum {
    BUSY_POLL_MS = 5,
    AWAKE_POLL_MS = 100,
    NOTIFICATIONS_BEFORE_A_LOOK = 5,
    OVERLAPS_OF_A_BURST = 3,
    FULL_CLAIMS_OF_A_BACKLOG = 2,
};

#define WINDOW_NS (100 * UINT64_C(1000000))
#define QUIET_NS (100 * UINT64_C(1000000))
#define TRY_AGAIN_NS (200 * UINT64_C(1000000))
/* A little less than a poll, whose answer is when it is asked again. */
#define ASK_AGAIN_NS (90 * UINT64_C(1000000))

static bool is_resting(const struct rest *rest)
{
    return rest->state == REST_WATCHED || rest->state == REST_ASLEEP;
}

void rest_set_listening(struct rest *rest, bool listening)
{
    *rest = (struct rest){.state = listening ? REST_AWAKE : REST_DEAF,
                          .listens = rest->listens || listening,
                          .out = rest->out,
                          .found_ns = rest->found_ns};
}

static void stay_awake(struct rest *rest, uint64_t now_ns)
{
    rest->busy = true;
    rest->ask_ns = now_ns + TRY_AGAIN_NS;
}

void rest_note_notification(struct rest *rest, uint64_t now_ns)
{
    if (now_ns - rest->window_ns > WINDOW_NS) {
        rest->window_ns = now_ns;
        rest->heard = 0;
        rest->overlaps = 0;
    }
    rest->heard++;
}

static bool is_behind(const struct rest *rest)
{
    return rest->full >= FULL_CLAIMS_OF_A_BACKLOG;
}

void rest_note_claim(struct rest *rest, bool found, bool full, uint64_t now_ns)
{
    rest->full = full ? rest->full + 1 : 0;
    if (found)
        rest->found_ns = now_ns;
    if (is_behind(rest) && !rest->busy)
        stay_awake(rest, now_ns);
}

static enum rest_call call_while_resting(const struct rest *rest, bool claims, uint64_t now_ns)
{
    bool look = rest->heard >= NOTIFICATIONS_BEFORE_A_LOOK;
    bool again = rest->state == REST_WATCHED && now_ns >= rest->ask_ns;

    if (!claims || rest->busy)
        return REST_CALL_END;
    return look || again ? REST_CALL_BEGIN : REST_CALL_NONE;
}

static enum rest_call call_while_awake(const struct rest *rest, uint64_t now_ns)
{
    if (is_behind(rest))
        return REST_CALL_NONE;
    if (rest->busy && now_ns - rest->found_ns >= QUIET_NS)
        return REST_CALL_BEGIN;
    if (now_ns < rest->ask_ns)
        return REST_CALL_NONE;
    return rest->busy ? REST_CALL_TRY : REST_CALL_BEGIN;
}

enum rest_call rest_next_call(struct rest *rest, bool claims, bool has_room, uint64_t now_ns)
{
    if (rest->out != REST_CALL_NONE)
        return REST_CALL_NONE;
    if (is_resting(rest))
        rest->out = call_while_resting(rest, claims, now_ns);
    else if (rest->state == REST_AWAKE && claims && has_room)
        rest->out = call_while_awake(rest, now_ns);
    return rest->out;
}

/* Asked while it rests: is a start open now? One that is, three times in a row, is a client that
 * waits for another one's notification. */
static void note_look(struct rest *rest, bool is_open, uint64_t now_ns)
{
    rest->overlaps = is_open ? rest->overlaps + 1 : 0;
    rest->heard = is_open ? NOTIFICATIONS_BEFORE_A_LOOK - 1 : 0;
    if (rest->overlaps >= OVERLAPS_OF_A_BURST)
        stay_awake(rest, now_ns);
}

bool rest_answered(struct rest *rest, enum rest_state state, uint64_t now_ns)
{
    enum rest_call call = rest->out;
    enum rest_state before = rest->state;

    rest->out = REST_CALL_NONE;
    if (before == REST_DEAF)
        return false;
    if (is_resting(rest) && state != REST_AWAKE) {
        if (rest->heard >= NOTIFICATIONS_BEFORE_A_LOOK)
            note_look(rest, state == REST_WATCHED, now_ns);
        /* Whoever sleeps has rested all the time since, whatever is open now. */
        if (before == REST_WATCHED)
            rest->state = state;
    } else {
        rest->state = state;
        rest->heard = 0;
        rest->overlaps = 0;
        if (call == REST_CALL_TRY && state == REST_AWAKE)
            stay_awake(rest, now_ns);
        else if (call != REST_CALL_END)
            rest->busy = false;
    }
    if (state != REST_ASLEEP && !rest->busy)
        rest->ask_ns = now_ns + ASK_AGAIN_NS;
    return before != REST_ASLEEP && state == REST_ASLEEP;
}

uint32_t rest_longest_pause_ms(const struct rest *rest)
{
    if (!rest->listens || rest->state == REST_ASLEEP)
        return UINT32_MAX;
    return rest->state == REST_AWAKE && rest->busy ? BUSY_POLL_MS : AWAKE_POLL_MS;
}

const char *rest_name(const struct rest *rest)
{
    static const char *const names[] = {[REST_DEAF] = "deaf",
                                        [REST_AWAKE] = "awake",
                                        [REST_WATCHED] = "watched",
                                        [REST_ASLEEP] = "asleep"};

    return rest->state == REST_AWAKE && rest->busy ? "busy" : names[rest->state];
}
