/* SPDX-License-Identifier: Apache-2.0
 * Delivers one alert, at least once: when the answer is lost, or the host between answer and
 * commit, the next attempt posts it again, with the same key. */
#include "alert.h"
#include "steps.h"
#include "webhook.h"

#include <pgflow/json.h>
#include <stdio.h>

enum { KEY_BYTES = 256 }; /* a UUID, a slug of at most 128 letters and a number */

int32_t step_deliver(void *state, const pgf_call *call)
{
    char key[KEY_BYTES];
    long status = 0;
    cJSON *verdict = pgf_json_input(call);
    if (verdict == NULL)
        return PGF_PERMANENT;
    /* Of the task, not of the attempt. */
    snprintf(key, sizeof key, "%.*s/%.*s/%d", (int)call->run_id.len, call->run_id.ptr,
             (int)call->step_slug.len, call->step_slug.ptr, (int)call->task_index);
    char *json = alert_text(verdict);
    int32_t answer = webhook_post(state, call, key, json, &status);
    cJSON_free(json);
    if (answer == PGF_OK) {
        cJSON *result = cJSON_CreateObject();
        cJSON_AddStringToObject(result, "id", pgf_json_text(verdict, "id", ""));
        cJSON_AddNumberToObject(result, "status", (double)status);
        cJSON_AddStringToObject(result, "key", key);
        answer = pgf_json_give(call, result);
    }
    cJSON_Delete(verdict);
    return answer;
}
