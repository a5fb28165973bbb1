/*
 * Somebody has something to say about this host's function: it was enabled, disabled or fenced, its
 * workers were deprecated, an alias was switched, a run that it works on has ended. The database
 * tells so without saying what; the host asks by a heartbeat, whose answer has it all. Hosts spread
 * their questions over 100 ms. What is lost of it the next heartbeat brings.
 */
#include "worker/worker_private.h"

#include <stdio.h>
#include <string.h>

#include "module/digest.h"

enum { SPREAD_MS = 100, HASH_DIGITS = 32 };

/* pgflow._control_channel */
bool control_make_channel(struct worker *worker, struct error *error)
{
    char hex[DIGEST_HEX + 1];

    if (!digest_of(worker->function, strlen(worker->function), hex, error))
        return false;
    (void)snprintf(worker->control_channel, sizeof worker->control_channel, "pgflow_f_%.*s",
                   HASH_DIGITS, hex);
    return true;
}

static void ask(uv_timer_t *timer)
{
    heartbeat_now(timer->data);
}

void control_heard(struct worker *worker)
{
    uint32_t bits = 0;

    if (worker->identity.id[0] == '\0' || uv_is_active((uv_handle_t *)&worker->control_timer))
        return;
    (void)uv_random(NULL, NULL, &bits, sizeof bits, 0, NULL);
    (void)uv_timer_start(&worker->control_timer, ask, bits % (SPREAD_MS + 1), 0);
}
