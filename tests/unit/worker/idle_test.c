#include "worker/idle.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define MS UINT64_C(1000000)

static const uint64_t start = 1000 * MS; /* no clock begins at 0 */

static struct idle idle;

static void listen_only(void)
{
    idle = (struct idle){.state = IDLE_DEAF};
    idle_set_listening(&idle, true);
}

static enum idle_call next(uint64_t now_ns)
{
    return idle_next_call(&idle, true, true, now_ns);
}

static void fall_asleep(void)
{
    listen_only();
    cr_assert(eq(int, next(start), IDLE_CALL_BEGIN));
    cr_assert(idle_answered(&idle, IDLE_ASLEEP, start));
}

/* A notification every millisecond from `from` on, `count` of them; gives the time of the last. */
static uint64_t hear(uint64_t from, int count)
{
    for (int i = 0; i < count; i++)
        idle_note_notification(&idle, from + (uint64_t)i * MS);
    return from + (uint64_t)(count - 1) * MS;
}

/* Notifications that come so quickly that it looks whether starts overlap, and they do. */
static uint64_t overlap_three_times(uint64_t now_ns)
{
    now_ns = hear(now_ns, 4);
    for (int i = 0; i < 3; i++) {
        now_ns = hear(now_ns + MS, 1);
        cr_assert(eq(int, next(now_ns), IDLE_CALL_BEGIN));
        cr_assert(not(idle_answered(&idle, IDLE_WATCHED, now_ns)));
    }
    return now_ns;
}

static void become_busy(void)
{
    fall_asleep();
    uint64_t now_ns = overlap_three_times(start);
    cr_assert(eq(int, next(now_ns), IDLE_CALL_END));
    (void)idle_answered(&idle, IDLE_AWAKE, now_ns);
    cr_assert(eq(str, (char *)idle_name(&idle), "busy"));
}

Test(idle, is_asked_for_as_soon_as_the_session_listens)
{
    idle = (struct idle){.state = IDLE_DEAF};
    cr_assert(eq(int, next(start), IDLE_CALL_NONE));

    idle_set_listening(&idle, true);

    cr_assert(eq(int, next(start), IDLE_CALL_BEGIN));
    cr_assert(eq(int, next(start), IDLE_CALL_NONE), "one call at a time");
}

Test(idle, wants_one_more_claim_when_it_falls_asleep_and_no_other)
{
    fall_asleep();

    uint64_t now_ns = hear(start, 5);
    cr_assert(eq(int, next(now_ns), IDLE_CALL_BEGIN));
    cr_assert(not(idle_answered(&idle, IDLE_ASLEEP, now_ns)));
}

Test(idle, is_not_begun_without_a_free_slot_or_while_nothing_is_claimed)
{
    listen_only();

    cr_assert(eq(int, idle_next_call(&idle, true, false, start), IDLE_CALL_NONE));
    cr_assert(eq(int, idle_next_call(&idle, false, true, start), IDLE_CALL_NONE));
}

Test(idle, goes_on_while_the_slots_are_taken)
{
    fall_asleep();

    cr_assert(eq(int, idle_next_call(&idle, true, false, start), IDLE_CALL_NONE));
}

Test(idle, ends_when_nothing_is_claimed_any_more)
{
    fall_asleep();

    cr_assert(eq(int, idle_next_call(&idle, false, true, start), IDLE_CALL_END));
    (void)idle_answered(&idle, IDLE_AWAKE, start);
    cr_assert(eq(int, idle_next_call(&idle, false, true, start + 500 * MS), IDLE_CALL_NONE));
    cr_assert(eq(int, next(start + 500 * MS), IDLE_CALL_BEGIN));
}

Test(idle, polls_while_a_start_is_watched_and_asks_again)
{
    listen_only();
    (void)next(start);
    cr_assert(not(idle_answered(&idle, IDLE_WATCHED, start)));

    cr_assert(eq(u32, idle_longest_pause_ms(&idle), 100));
    cr_assert(eq(int, next(start + 50 * MS), IDLE_CALL_NONE));
    cr_assert(eq(int, next(start + 100 * MS), IDLE_CALL_BEGIN));
    cr_assert(not(idle_answered(&idle, IDLE_WATCHED, start + 100 * MS)));
    cr_assert(eq(int, next(start + 200 * MS), IDLE_CALL_BEGIN));
    cr_assert(idle_answered(&idle, IDLE_ASLEEP, start + 200 * MS));
    cr_assert(eq(u32, idle_longest_pause_ms(&idle), UINT32_MAX));
}

Test(idle, asks_again_a_poll_later_when_it_is_refused)
{
    listen_only();
    (void)next(start);
    cr_assert(not(idle_answered(&idle, IDLE_AWAKE, start)));

    cr_assert(eq(u32, idle_longest_pause_ms(&idle), 100));
    cr_assert(eq(int, next(start + 5 * MS), IDLE_CALL_NONE));
    cr_assert(eq(int, next(start + 100 * MS), IDLE_CALL_BEGIN));
}

Test(idle, lone_notifications_change_nothing)
{
    fall_asleep();

    for (uint64_t i = 0; i < 100; i++) {
        idle_note_notification(&idle, start + i * 30 * MS);
        idle_note_claim(&idle, true, false, start + i * 30 * MS);
        cr_assert(eq(int, next(start + i * 30 * MS), IDLE_CALL_NONE));
    }
}

Test(idle, one_client_that_waits_for_each_of_its_runs_is_no_burst)
{
    fall_asleep();

    uint64_t now_ns = start;
    for (int i = 0; i < 200; i++) {
        idle_note_notification(&idle, now_ns += 2 * MS);
        enum idle_call call = next(now_ns);
        cr_assert(ne(int, call, IDLE_CALL_END));
        if (call == IDLE_CALL_BEGIN) /* its start has ended: nothing is open */
            (void)idle_answered(&idle, IDLE_ASLEEP, now_ns);
    }
    cr_assert(eq(int, idle.state, IDLE_ASLEEP));
}

Test(idle, ends_when_starts_overlap)
{
    become_busy();

    cr_assert(eq(u32, idle_longest_pause_ms(&idle), 5));
}

Test(idle, who_sleeps_stays_asleep_although_a_start_is_open)
{
    fall_asleep();

    uint64_t now_ns = hear(start, 5);
    (void)next(now_ns);
    (void)idle_answered(&idle, IDLE_WATCHED, now_ns);

    cr_assert(eq(int, idle.state, IDLE_ASLEEP));
}

Test(idle, begins_again_when_nothing_was_found_for_a_while)
{
    become_busy();
    uint64_t found_ns = start + 50 * MS;
    idle_note_claim(&idle, true, false, found_ns);

    cr_assert(eq(int, next(found_ns + 90 * MS), IDLE_CALL_NONE));
    cr_assert(eq(int, next(found_ns + 100 * MS), IDLE_CALL_BEGIN));
}

Test(idle, is_tried_now_and_then_while_work_goes_on)
{
    become_busy();

    uint64_t now_ns = start;
    int tried = 0;
    for (int i = 0; i < 200; i++) {
        idle_note_claim(&idle, true, false, now_ns += 5 * MS);
        enum idle_call call = next(now_ns);
        cr_assert(ne(int, call, IDLE_CALL_BEGIN), "it would be notified of each start");
        if (call == IDLE_CALL_TRY) {
            tried++;
            (void)idle_answered(&idle, IDLE_AWAKE, now_ns);
        }
    }
    cr_assert(ge(int, tried, 3));
    cr_assert(le(int, tried, 5));

    idle_note_claim(&idle, true, false, now_ns += 200 * MS);
    cr_assert(eq(int, next(now_ns), IDLE_CALL_TRY));
    cr_assert(idle_answered(&idle, IDLE_ASLEEP, now_ns), "no start is open: one client at a time");
    cr_assert(eq(str, (char *)idle_name(&idle), "asleep"));
}

Test(idle, a_backlog_ends_it_and_keeps_it_off)
{
    fall_asleep();
    idle_note_claim(&idle, true, true, start);
    cr_assert(eq(int, next(start), IDLE_CALL_NONE), "one full claim is a task for each slot");
    idle_note_claim(&idle, true, true, start + MS);

    cr_assert(eq(int, next(start + MS), IDLE_CALL_END));
    (void)idle_answered(&idle, IDLE_AWAKE, start + 2 * MS);
    cr_assert(eq(int, next(start + 5000 * MS), IDLE_CALL_NONE));

    idle_note_claim(&idle, false, false, start + 5001 * MS);
    cr_assert(eq(int, next(start + 5001 * MS), IDLE_CALL_BEGIN));
}

Test(idle, is_over_when_the_session_is_lost)
{
    fall_asleep();
    cr_assert(eq(int, (hear(start, 5), next(start + 5 * MS)), IDLE_CALL_BEGIN));

    idle_set_listening(&idle, false);

    cr_assert(eq(u32, idle_longest_pause_ms(&idle), 100), "nothing notifies: it polls");
    cr_assert(not(idle_answered(&idle, IDLE_AWAKE, start + 6 * MS)), "of the lost session");
    idle_set_listening(&idle, true);
    cr_assert(eq(int, next(start + 7 * MS), IDLE_CALL_BEGIN));
}

Test(idle, who_never_listens_polls_as_it_likes)
{
    idle = (struct idle){.state = IDLE_DEAF};

    cr_assert(eq(u32, idle_longest_pause_ms(&idle), UINT32_MAX));
    cr_assert(eq(int, next(start), IDLE_CALL_NONE));
}
