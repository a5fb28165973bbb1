#include "worker/idle.h"
#include "base/clock.h"

enum {
    BUSY_POLL_MS = 5,
    AWAKE_POLL_MS = 100,
    NOTIFICATIONS_BEFORE_A_LOOK = 5,
    OVERLAPS_OF_A_BURST = 3,
    FULL_CLAIMS_OF_A_BACKLOG = 2,
};

#define WINDOW_NS (100 * NS_PER_MS)
#define QUIET_NS (100 * NS_PER_MS)
#define TRY_AGAIN_NS (200 * NS_PER_MS)
/* A little less than a poll, whose answer is when it is asked again. */
#define ASK_AGAIN_NS (90 * NS_PER_MS)

static bool is_idle(const struct idle *idle)
{
    return idle->state == IDLE_WATCHED || idle->state == IDLE_ASLEEP;
}

void idle_set_listening(struct idle *idle, bool listening)
{
    *idle = (struct idle){.state = listening ? IDLE_AWAKE : IDLE_DEAF,
                          .listens = idle->listens || listening,
                          .out = idle->out,
                          .found_ns = idle->found_ns};
}

static void stay_awake(struct idle *idle, uint64_t now_ns)
{
    idle->busy = true;
    idle->ask_ns = now_ns + TRY_AGAIN_NS;
}

void idle_note_notification(struct idle *idle, uint64_t now_ns)
{
    if (now_ns - idle->window_ns > WINDOW_NS) {
        idle->window_ns = now_ns;
        idle->heard = 0;
        idle->overlaps = 0;
    }
    idle->heard++;
}

static bool is_behind(const struct idle *idle)
{
    return idle->full >= FULL_CLAIMS_OF_A_BACKLOG;
}

void idle_note_claim(struct idle *idle, bool found, bool full, uint64_t now_ns)
{
    idle->full = full ? idle->full + 1 : 0;
    if (found)
        idle->found_ns = now_ns;
    if (is_behind(idle) && !idle->busy)
        stay_awake(idle, now_ns);
}

static enum idle_call call_while_idle(const struct idle *idle, bool claims, uint64_t now_ns)
{
    bool look = idle->heard >= NOTIFICATIONS_BEFORE_A_LOOK;
    bool again = idle->state == IDLE_WATCHED && now_ns >= idle->ask_ns;

    if (!claims || idle->busy)
        return IDLE_CALL_END;
    return look || again ? IDLE_CALL_BEGIN : IDLE_CALL_NONE;
}

static enum idle_call call_while_awake(const struct idle *idle, uint64_t now_ns)
{
    if (is_behind(idle))
        return IDLE_CALL_NONE;
    if (idle->busy && now_ns - idle->found_ns >= QUIET_NS)
        return IDLE_CALL_BEGIN;
    if (now_ns < idle->ask_ns)
        return IDLE_CALL_NONE;
    return idle->busy ? IDLE_CALL_TRY : IDLE_CALL_BEGIN;
}

enum idle_call idle_next_call(struct idle *idle, bool claims, bool has_room, uint64_t now_ns)
{
    if (idle->out != IDLE_CALL_NONE)
        return IDLE_CALL_NONE;
    if (is_idle(idle))
        idle->out = call_while_idle(idle, claims, now_ns);
    else if (idle->state == IDLE_AWAKE && claims && has_room)
        idle->out = call_while_awake(idle, now_ns);
    return idle->out;
}

/* Asked while it is idle: is a start open now? One that is, three times in a row, is a client that
 * waits for another one's notification. */
static void note_look(struct idle *idle, bool is_open, uint64_t now_ns)
{
    idle->overlaps = is_open ? idle->overlaps + 1 : 0;
    idle->heard = is_open ? NOTIFICATIONS_BEFORE_A_LOOK - 1 : 0;
    if (idle->overlaps >= OVERLAPS_OF_A_BURST)
        stay_awake(idle, now_ns);
}

bool idle_answered(struct idle *idle, enum idle_state state, uint64_t now_ns)
{
    enum idle_call call = idle->out;
    enum idle_state before = idle->state;

    idle->out = IDLE_CALL_NONE;
    if (before == IDLE_DEAF)
        return false;
    if (is_idle(idle) && state != IDLE_AWAKE) {
        if (idle->heard >= NOTIFICATIONS_BEFORE_A_LOOK)
            note_look(idle, state == IDLE_WATCHED, now_ns);
        /* A host that is asleep has been idle all the time since, whatever is open now. */
        if (before == IDLE_WATCHED)
            idle->state = state;
    } else {
        idle->state = state;
        idle->heard = 0;
        idle->overlaps = 0;
        if (call == IDLE_CALL_TRY && state == IDLE_AWAKE)
            stay_awake(idle, now_ns);
        else if (call != IDLE_CALL_END)
            idle->busy = false;
    }
    if (state != IDLE_ASLEEP && !idle->busy)
        idle->ask_ns = now_ns + ASK_AGAIN_NS;
    return before != IDLE_ASLEEP && state == IDLE_ASLEEP;
}

uint32_t idle_longest_pause_ms(const struct idle *idle)
{
    if (!idle->listens || idle->state == IDLE_ASLEEP)
        return UINT32_MAX;
    return idle->state == IDLE_AWAKE && idle->busy ? BUSY_POLL_MS : AWAKE_POLL_MS;
}

const char *idle_name(const struct idle *idle)
{
    static const char *const names[] = {[IDLE_DEAF] = "deaf",
                                        [IDLE_AWAKE] = "awake",
                                        [IDLE_WATCHED] = "watched",
                                        [IDLE_ASLEEP] = "asleep"};

    return idle->state == IDLE_AWAKE && idle->busy ? "busy" : names[idle->state];
}
