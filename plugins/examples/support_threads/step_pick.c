/* SPDX-License-Identifier: Apache-2.0
 * Keeps the urgent threads, so that the queue of deliveries carries nothing else. */
#include "call_error.h"
#include "steps.h"
#include "urgent.h"

#include <pgflow/json.h>

int32_t step_pick(void *state, const pgf_call *call)
{
    (void)state;
    cJSON *input = pgf_json_input(call);
    if (input == NULL)
        return PGF_PERMANENT;
    cJSON *verdicts = pgf_json_member(input, "classify_threads");
    int32_t answer = cJSON_IsArray(verdicts)
                         ? pgf_json_give(call, take_urgent(verdicts))
                         : call_error(call, PGF_PERMANENT, "classify_threads gave no list");
    cJSON_Delete(input);
    return answer;
}
