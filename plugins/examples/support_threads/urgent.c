/* SPDX-License-Identifier: Apache-2.0 */
#include "urgent.h"

#include "classifier.h"

#include <pgflow/json.h>
#include <stdlib.h>
#include <string.h>

static double score_of(const cJSON *verdict)
{
    const cJSON *score = pgf_json_member(verdict, "score");
    return cJSON_IsNumber(score) ? score->valuedouble : 0;
}

/* Highest score first; of equals by id, which is unique in a run, so the order is one. */
static int by_score(const void *a, const void *b)
{
    const cJSON *left = *(cJSON *const *)a;
    const cJSON *right = *(cJSON *const *)b;
    if (score_of(left) != score_of(right))
        return score_of(left) < score_of(right) ? 1 : -1;
    return strcmp(pgf_json_text(left, "id", ""), pgf_json_text(right, "id", ""));
}

cJSON *take_urgent(cJSON *verdicts)
{
    size_t count = 0;
    cJSON *urgent = cJSON_CreateArray();
    cJSON **taken = calloc((size_t)cJSON_GetArraySize(verdicts) + 1, sizeof *taken);
    if (taken == NULL)
        abort(); /* as cJSON does in this module: one attempt of one task */
    for (cJSON *verdict = verdicts->child, *next = NULL; verdict != NULL; verdict = next) {
        next = verdict->next;
        if (is_urgent(pgf_json_text(verdict, "urgency", "")))
            taken[count++] = cJSON_DetachItemViaPointer(verdicts, verdict);
    }
    qsort(taken, count, sizeof *taken, by_score);
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(urgent, taken[i]);
    free(taken);
    return urgent;
}
