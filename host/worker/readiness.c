/*
 * /readyz: whether this host does what it is there for. It turns on the database, on the start that
 * came through (which checked the schema) and on the heartbeat; a host that stands by is ready too,
 * because nothing but its operator can change that. One whose code may not serve, or does not cover
 * the queue, is not: what replaces hosts one by one must not go on and end those that serve.
 */
#include "worker/worker_private.h"

/* After this the database takes the worker for gone (pgflow._is_live). */
#define LIVE_NS (15 * NS_PER_S)

bool readiness_judge(const struct worker *worker, uint64_t now_ns, const char **word)
{
    bool standby = worker->life.state == WORKER_STANDBY;

    *word = !standby                          ? "claiming"
            : worker->standby.word[0] != '\0' ? worker->standby.word
                                              : "standing by";
    if (!worker->up)
        *word = "no database";
    else if (worker->life.state == WORKER_STARTING)
        *word = "starting";
    else if (worker->life.state != WORKER_RUNNING && !standby)
        *word = "stopping";
    else if (standby && worker->standby.for_gap)
        *word = "standing by: the given modules do not cover the queue";
    else if (worker->heartbeat.silent)
        *word = "no claim was answered for 30 s";
    else if (worker->identity.id[0] == '\0' || worker->identity.standby != standby)
        *word = "not registered yet";
    else if (now_ns - worker->heartbeat.answered_ns >= LIVE_NS)
        *word = "no heartbeat was answered for 15 s";
    else
        return !standby || standby_is_in_order(worker);
    return false;
}
