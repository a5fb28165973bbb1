/* SPDX-License-Identifier: Apache-2.0
 * Version 2 of pick_urgent: the urgent threads by team, so that each team gets one alert however
 * many threads there are. */
#include "call_error.h"
#include "steps.h"
#include "urgent.h"

#include <pgflow/json.h>
#include <string.h>

/* The threads of the team, in a group that is appended where there is none. */
static cJSON *threads_of(cJSON *groups, const char *team)
{
    cJSON *group = NULL;
    cJSON_ArrayForEach(group, groups)
    {
        if (strcmp(pgf_json_text(group, "team", ""), team) == 0)
            return pgf_json_member(group, "threads");
    }
    group = cJSON_CreateObject();
    cJSON_AddStringToObject(group, "team", team);
    cJSON *threads = cJSON_AddArrayToObject(group, "threads");
    cJSON_AddItemToArray(groups, group);
    return threads;
}

/* The team with the most urgent thread first, as the list has them in that order. */
static cJSON *group_by_team(cJSON *urgent)
{
    cJSON *groups = cJSON_CreateArray();
    while (urgent->child != NULL) {
        cJSON *verdict = cJSON_DetachItemViaPointer(urgent, urgent->child);
        cJSON *threads = threads_of(groups, pgf_json_text(verdict, "team", "support"));
        cJSON_AddItemToArray(threads, verdict);
    }
    return groups;
}

int32_t step_group(void *state, const pgf_call *call)
{
    (void)state;
    cJSON *input = pgf_json_input(call);
    if (input == NULL)
        return PGF_PERMANENT;
    cJSON *verdicts = pgf_json_member(input, "classify_threads");
    int32_t answer = PGF_OK;
    if (cJSON_IsArray(verdicts)) {
        cJSON *urgent = take_urgent(verdicts);
        answer = pgf_json_give(call, group_by_team(urgent));
        cJSON_Delete(urgent);
    } else {
        answer = call_error(call, PGF_PERMANENT, "classify_threads gave no list");
    }
    cJSON_Delete(input);
    return answer;
}
