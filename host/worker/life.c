/*
 * The changes of life that the database asks for: what a heartbeat's answer says, and the end of
 * standing by. The files below note them and wake the pump; this one, above all of them, acts.
 */
#include "worker/worker_private.h"

static void act_on_answer(struct worker *worker, const struct heartbeat_news *news)
{
    if (news->is_deprecated)
        stop_begin(worker, DRAIN_THEN_EXIT, ERROR_NONE, "deprecated");
    else if (worker->life.state == WORKER_STANDBY)
        standby_ask_whether_enabled(worker);
    else if (news->must_stop)
        stop_begin(worker, DRAIN_THEN_STANDBY, ERROR_NONE,
                   "the function was disabled, or given to other code");
    else if (worker->life.state == WORKER_RUNNING)
        activation_offer_again(worker);
}

void life_run(struct worker *worker)
{
    const struct heartbeat_news news = heartbeat_take_news(worker);
    const char *end_of_standby = standby_take_end(worker);

    if (end_of_standby != NULL)
        startup_run_again(worker, end_of_standby);
    if (news.ticked && worker->life.state == WORKER_STANDBY)
        standby_tick(worker);
    if (news.answered)
        act_on_answer(worker, &news);
}
