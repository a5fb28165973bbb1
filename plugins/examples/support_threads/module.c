/* SPDX-License-Identifier: Apache-2.0
 * The deployment descriptor of support_threads. What thinks and what talks to the world have
 * queues of their own, so each gets hosts with the concurrency that suits it. Two concrete flows
 * are built from it, with SUPPORT_THREADS_VERSION 1 and 2: they run side by side while version 1
 * drains. Their steps are alike; what goes from one to the next is not, and the contracts say so.
 */
#include "steps.h"
#include "webhook.h"

#include <pgflow/json.h>
#include <string.h>

#define CLASSIFY_QUEUE "classify_threads"
#define DELIVER_QUEUE "deliver_slack_alerts"

#if SUPPORT_THREADS_VERSION == 1
#define FLOW_SLUG "support_threads_v1"
#define VERSION "1.0.0"
#define CLASSIFY step_classify
#define VERDICT_CONTRACT "support_threads/verdict/1"
#define PICK step_pick
#define PICK_CONTRACT "support_threads/verdict/1"
#define DELIVER step_deliver
#define DELIVER_CONTRACT "support_threads/delivery/1"
#else
#define FLOW_SLUG "support_threads_v2"
#define VERSION "2.0.0"
#define CLASSIFY step_classify_with_team
#define VERDICT_CONTRACT "support_threads/verdict/2"
#define PICK step_group
#define PICK_CONTRACT "support_threads/digest/1"
#define DELIVER step_deliver_digest
#define DELIVER_CONTRACT "support_threads/delivery/2"
#endif

static const pgf_options flow_options = {.max_attempts = PGF_INT(3), .timeout_s = PGF_INT(30)};
/* 2 s, 4 s, ... 128 s where the webhook does not say when to come back: about four minutes. */
static const pgf_options deliver_options = {.max_attempts = PGF_INT(8), .timeout_s = PGF_INT(20)};

static const char *const after_load[] = {"load_threads", NULL};
static const char *const after_classify[] = {"classify_threads", NULL};
static const char *const after_pick[] = {"pick_urgent", NULL};

static const pgf_step steps[] = {
    {.slug = "load_threads",
     .queue = CLASSIFY_QUEUE,
     .contract = "support_threads/thread/1",
     .run = step_load},
    {.slug = "classify_threads",
     .kind = PGF_STEP_MAP,
     .deps = after_load,
     .queue = CLASSIFY_QUEUE,
     .contract = VERDICT_CONTRACT,
     .run = CLASSIFY},
    {.slug = "pick_urgent",
     .deps = after_classify,
     .queue = CLASSIFY_QUEUE,
     .contract = PICK_CONTRACT,
     .run = PICK},
    {.slug = "deliver_slack_alerts",
     .kind = PGF_STEP_MAP,
     .deps = after_pick,
     .queue = DELIVER_QUEUE,
     .options = &deliver_options,
     .contract = DELIVER_CONTRACT,
     .run = DELIVER},
};

static int32_t init(const pgf_host *host, void **state)
{
    static const char problem[] = "libcurl does not start";
    pgf_json_abort_without_memory(); /* no tree may lose a branch unseen and become a result */
    *state = webhook_create();
    if (*state != NULL)
        return 0;
    host->log(host, PGF_LOG_ERROR, problem, strlen(problem));
    return 1;
}

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER,
                                                .flow_slug = FLOW_SLUG,
                                                .alias = "support_threads",
                                                .version = VERSION,
                                                .queue_mode = PGF_QUEUE_ROUTED,
                                                .options = &flow_options,
                                                .steps = PGF_ARRAY(steps),
                                                .init = init,
                                                .fini = webhook_destroy};
