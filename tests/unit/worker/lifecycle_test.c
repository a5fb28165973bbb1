#include "worker/lifecycle.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <signal.h>

Test(lifecycle, drained_worker_never_runs_again_without_a_new_start)
{
    cr_assert(not(lifecycle_may_move(WORKER_DRAINING, WORKER_RUNNING)));
    cr_assert(not(lifecycle_may_move(WORKER_DRAINING, WORKER_STARTING)));
    cr_assert(lifecycle_may_move(WORKER_DRAINING, WORKER_STANDBY));
    cr_assert(lifecycle_may_move(WORKER_STANDBY, WORKER_STARTING));
    cr_assert(lifecycle_may_move(WORKER_STARTING, WORKER_RUNNING));
}

Test(lifecycle, standby_does_not_run_without_a_start)
{
    cr_assert(not(lifecycle_may_move(WORKER_STANDBY, WORKER_RUNNING)));
}

Test(lifecycle, running_worker_must_drain_before_it_stops)
{
    cr_assert(not(lifecycle_may_move(WORKER_RUNNING, WORKER_STOPPED)));
    cr_assert(not(lifecycle_may_move(WORKER_RUNNING, WORKER_STANDBY)));
    cr_assert(lifecycle_may_move(WORKER_RUNNING, WORKER_DRAINING));
    cr_assert(lifecycle_may_move(WORKER_DRAINING, WORKER_STOPPED));
}

Test(lifecycle, nothing_follows_stopped)
{
    for (int to = WORKER_STARTING; to <= WORKER_STOPPED; to++)
        cr_assert(not(lifecycle_may_move(WORKER_STOPPED, (enum worker_state)to)));
}

Test(lifecycle, legal_move_changes_the_state)
{
    struct lifecycle life = {.state = WORKER_RUNNING, .queue = "q"};

    lifecycle_set(&life, WORKER_DRAINING, "SIGTERM");

    cr_assert(eq(int, life.state, WORKER_DRAINING));
}

Test(lifecycle, illegal_move_ends_the_process, .signal = SIGABRT)
{
    struct lifecycle life = {.state = WORKER_DRAINING, .queue = "q"};

    lifecycle_set(&life, WORKER_RUNNING, "a defect");
}
