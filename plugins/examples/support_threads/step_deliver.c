/* SPDX-License-Identifier: Apache-2.0
 * Delivers one alert, at least once: when the answer is lost, or the host between answer and
 * commit, the next attempt posts it again, with the same key. */
#include "alert.h"
#include "steps.h"
#include "webhook.h"

#include <pgflow/json.h>
#include <stdio.h>

enum { KEY_BYTES = 256 }; /* a UUID, a slug of at most 128 letters and a number */

/* Posts the JSON text, which it frees. PGF_OK: status and key are in the result. */
static int32_t post(struct webhook *webhook, const pgf_call *call, char *json, cJSON *result)
{
    char key[KEY_BYTES];
    long status = 0;
    /* Of the task, not of the attempt. */
    (void)snprintf(key, sizeof key, "%.*s/%.*s/%d", (int)call->run_id.len, call->run_id.ptr,
                   (int)call->step_slug.len, call->step_slug.ptr, (int)call->task_index);
    int32_t answer = webhook_post(webhook, call, key, json, &status);
    cJSON_free(json);
    cJSON_AddNumberToObject(result, "status", (double)status);
    cJSON_AddStringToObject(result, "key", key);
    return answer;
}

/* Gives the result, or drops it. */
static int32_t end(const pgf_call *call, int32_t answer, cJSON *result)
{
    if (answer == PGF_OK)
        return pgf_json_give(call, result);
    cJSON_Delete(result);
    return answer;
}

int32_t step_deliver(void *state, const pgf_call *call)
{
    cJSON *verdict = pgf_json_input(call);
    if (verdict == NULL)
        return PGF_PERMANENT;
    cJSON *result = cJSON_CreateObject();
    cJSON_AddStringToObject(result, "id", pgf_json_text(verdict, "id", ""));
    int32_t answer = post(state, call, alert_text(verdict), result);
    cJSON_Delete(verdict);
    return end(call, answer, result);
}

int32_t step_deliver_digest(void *state, const pgf_call *call)
{
    const cJSON *verdict = NULL;
    cJSON *digest = pgf_json_input(call);
    if (digest == NULL)
        return PGF_PERMANENT;
    cJSON *result = cJSON_CreateObject();
    cJSON_AddStringToObject(result, "team", pgf_json_text(digest, "team", ""));
    cJSON *ids = cJSON_AddArrayToObject(result, "ids");
    cJSON_ArrayForEach(verdict, pgf_json_member(digest, "threads"))
        cJSON_AddItemToArray(ids, cJSON_CreateString(pgf_json_text(verdict, "id", "")));
    int32_t answer = post(state, call, digest_text(digest), result);
    cJSON_Delete(digest);
    return end(call, answer, result);
}
