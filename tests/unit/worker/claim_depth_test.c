#include "worker/claim_depth.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static const uint64_t second = UINT64_C(1000000000);

static struct claim_room room_of(uint32_t in_pool, uint32_t waiting, uint32_t unreported)
{
    return (struct claim_room){.concurrency = 10,
                               .batch_size = 10,
                               .in_pool = in_pool,
                               .waiting = waiting,
                               .unreported = unreported};
}

Test(claim_width, is_as_wide_as_the_free_slots)
{
    struct claim_room idle = room_of(0, 0, 0), busy = room_of(7, 0, 0);

    cr_assert(eq(u32, claim_width(&idle), 10));
    cr_assert(eq(u32, claim_width(&busy), 3));
}

Test(claim_width, is_nothing_with_no_slot_free)
{
    struct claim_room full = room_of(10, 0, 0);

    cr_assert(eq(u32, claim_width(&full), 0));
}

Test(claim_width, never_exceeds_the_batch_size)
{
    struct claim_room room = room_of(0, 0, 0);
    room.batch_size = 4;

    cr_assert(eq(u32, claim_width(&room), 4));
}

Test(claim_width, prefetch_adds_what_is_held_ahead)
{
    struct claim_room room = room_of(10, 0, 0);
    room.batch_size = 100;
    room.ahead = 70;

    cr_assert(eq(u32, claim_width(&room), 70));
}

Test(claim_width, holds_at_most_two_batches_ahead)
{
    struct claim_room room = room_of(23, 13, 0);
    room.ahead = 70;

    cr_assert(eq(u32, claim_width(&room), 7));
    room = room_of(30, 20, 0);
    room.ahead = 70;
    cr_assert(eq(u32, claim_width(&room), 0));
}

Test(claim_width, is_a_whole_batch_while_the_one_before_waits)
{
    struct claim_room room = {
        .concurrency = 10, .batch_size = 100, .ahead = 1000, .in_pool = 100, .waiting = 90};

    cr_assert(eq(u32, claim_width(&room), 100));
}

Test(claim_width, is_nothing_while_a_narrow_claim_would_join_waiting_work)
{
    struct claim_room room = room_of(61, 51, 0);
    room.batch_size = 100;
    room.ahead = 100;

    cr_assert(eq(u32, claim_width(&room), 0));
    room = (struct claim_room){
        .concurrency = 10, .batch_size = 100, .ahead = 100, .in_pool = 60, .waiting = 50};
    cr_assert(eq(u32, claim_width(&room), 50));
}

Test(claim_width, unreported_results_take_room)
{
    struct claim_room room = room_of(2, 0, 16);

    cr_assert(eq(u32, claim_width(&room), 2));
    room = room_of(0, 0, 20);
    cr_assert(eq(u32, claim_width(&room), 0));
}

Test(prefetch, begins_after_twenty_fast_handlers)
{
    struct prefetch prefetch = {0};

    for (int i = 0; i < 19; i++)
        prefetch_note_handler(&prefetch, 99, 0);
    cr_assert(not(prefetch_is_on(&prefetch, second)));

    prefetch_note_handler(&prefetch, 0, 0);
    cr_assert(prefetch_is_on(&prefetch, second));
}

Test(prefetch, one_slow_handler_ends_it)
{
    struct prefetch prefetch = {.fast_in_a_row = 20};

    prefetch_note_handler(&prefetch, 100, 0);

    cr_assert(not(prefetch_is_on(&prefetch, second)));
}

Test(prefetch, release_for_lateness_ends_it_for_a_minute)
{
    struct prefetch prefetch = {.fast_in_a_row = 20};

    prefetch_suspend(&prefetch, 100 * second);

    cr_assert(not(prefetch_is_on(&prefetch, 100 * second)));
    cr_assert(not(prefetch_is_on(&prefetch, 160 * second - 1)));
    cr_assert(prefetch_is_on(&prefetch, 160 * second));
}

static struct prefetch after_handlers(int count, uint64_t ms, uint64_t input_bytes)
{
    struct prefetch prefetch = {0};

    for (int i = 0; i < count; i++)
        prefetch_note_handler(&prefetch, ms, input_bytes);
    return prefetch;
}

Test(prefetch_depth, is_what_the_slots_do_in_fifty_milliseconds)
{
    struct prefetch short_ones = after_handlers(20, 0, 10), longer = after_handlers(20, 2, 10);

    cr_assert(eq(u32, prefetch_depth(&short_ones, 4), 400));
    cr_assert(eq(u32, prefetch_depth(&longer, 4), 100));
}

Test(prefetch_depth, is_one_task_a_slot_for_handlers_of_fifty_milliseconds_and_more)
{
    struct prefetch long_ones = after_handlers(20, 90, 10);

    cr_assert(eq(u32, prefetch_depth(&long_ones, 10), 10));
}

Test(prefetch_depth, follows_handlers_that_get_longer)
{
    struct prefetch prefetch = after_handlers(20, 0, 10);

    for (int i = 0; i < 60; i++)
        prefetch_note_handler(&prefetch, 90, 10);

    cr_assert(eq(u32, prefetch_depth(&prefetch, 10), 10));
}

Test(prefetch_depth, keeps_large_inputs_below_thirty_two_mebibytes)
{
    struct prefetch large = after_handlers(200, 0, 1024 * 1024);
    struct prefetch largest = after_handlers(200, 0, 16 * 1024 * 1024);

    cr_assert(ge(u32, prefetch_depth(&large, 4), 32));
    cr_assert(le(u32, prefetch_depth(&large, 4), 33));
    cr_assert(eq(u32, prefetch_depth(&largest, 4), 4));
}

Test(prefetch_light, is_a_claim_of_one_mebibyte_and_less)
{
    struct prefetch kibibytes = after_handlers(400, 0, 1024);

    cr_assert(prefetch_is_light(&kibibytes, 1000));
    cr_assert(not(prefetch_is_light(&kibibytes, 1100)));
}

Test(prefetch_depth, never_exceeds_the_widest_claim)
{
    struct prefetch short_ones = after_handlers(20, 0, 0);

    cr_assert(eq(u32, prefetch_depth(&short_ones, 900), 1000));
}

Test(idle_backoff, doubles_to_a_second_and_stays)
{
    struct idle_backoff backoff = {.base_ms = 100};
    const uint32_t centre = 25; /* a jitter of nothing for 100 ms */

    cr_assert(eq(u32, idle_backoff_next(&backoff, centre), 100));
    cr_assert(eq(u32, idle_backoff_next(&backoff, 50), 200));
    cr_assert(eq(u32, idle_backoff_next(&backoff, 100), 400));
    cr_assert(eq(u32, idle_backoff_next(&backoff, 200), 800));
    for (int i = 0; i < 100; i++)
        cr_assert(eq(u32, idle_backoff_next(&backoff, 250), 1000));
}

Test(idle_backoff, jitter_stays_within_a_quarter_and_below_the_longest)
{
    struct idle_backoff backoff = {.base_ms = 100};

    for (uint32_t random = 0; random < 100000; random += 7) {
        idle_backoff_reset(&backoff);
        uint32_t pause = idle_backoff_next(&backoff, random);
        cr_assert(ge(u32, pause, 75));
        cr_assert(le(u32, pause, 125));
    }
    for (uint32_t random = 0; random < 100000; random += 7)
        cr_assert(le(u32, idle_backoff_next(&backoff, random), 1000));
}

Test(idle_backoff, larger_interval_stays_as_it_is)
{
    struct idle_backoff backoff = {.base_ms = 5000};

    for (int i = 0; i < 10; i++)
        cr_assert(eq(u32, idle_backoff_next(&backoff, 1250), 5000));
}

Test(idle_backoff, starts_anew_after_work)
{
    struct idle_backoff backoff = {.base_ms = 100};
    for (int i = 0; i < 10; i++)
        (void)idle_backoff_next(&backoff, 0);

    idle_backoff_reset(&backoff);

    cr_assert(eq(u32, idle_backoff_next(&backoff, 25), 100));
}

Test(idle_sleep, wakes_when_the_next_message_is_due)
{
    cr_assert(eq(u32, idle_sleep_ms(1000, 40), 40));
    cr_assert(eq(u32, idle_sleep_ms(1000, 0), 0));
    cr_assert(eq(u32, idle_sleep_ms(100, 40000), 100));
    cr_assert(eq(u32, idle_sleep_ms(100, -1), 100));
}
