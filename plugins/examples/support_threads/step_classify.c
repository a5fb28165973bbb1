/* SPDX-License-Identifier: Apache-2.0
 * Classifies one thread by what the customer wrote; what an agent wrote says nothing about the
 * customer's trouble ("is production down?"). */
#include "classifier.h"
#include "steps.h"
#include "teams.h"

#include <pgflow/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No phrase reaches from one message into the next. */
static const char between[] = " | ";

static bool by_customer(const cJSON *message)
{
    return strcmp(pgf_json_text(message, "from", ""), "customer") == 0;
}

/* Subject and messages of the customer; free() it. */
static char *customer_text(const cJSON *thread)
{
    char *text = NULL;
    size_t size = 0;
    const cJSON *message = NULL;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        abort(); /* as cJSON does in this module: one attempt of one task */
    (void)fputs(pgf_json_text(thread, "subject", ""), out);
    cJSON_ArrayForEach(message, pgf_json_member(thread, "messages"))
    {
        if (!by_customer(message))
            continue;
        (void)fputs(between, out);
        (void)fputs(pgf_json_text(message, "text", ""), out);
    }
    if (fclose(out) != 0)
        abort();
    return text;
}

/* How many messages the customer wrote since an agent last did. */
static int count_waiting(const cJSON *messages)
{
    int waiting = 0;
    const cJSON *message = NULL;
    cJSON_ArrayForEach(message, messages) waiting = by_customer(message) ? waiting + 1 : 0;
    return waiting;
}

/* What both versions say of a thread. */
static cJSON *verdict_json(const cJSON *thread, const struct verdict *verdict, int waiting)
{
    const char *link = pgf_json_text(thread, "link", NULL);
    cJSON *result = cJSON_CreateObject();
    cJSON_AddStringToObject(result, "id", pgf_json_text(thread, "id", ""));
    cJSON_AddStringToObject(result, "subject", pgf_json_text(thread, "subject", ""));
    if (link != NULL)
        cJSON_AddStringToObject(result, "link", link);
    cJSON_AddStringToObject(result, "category", verdict->category);
    cJSON_AddStringToObject(result, "urgency", verdict->urgency);
    cJSON_AddNumberToObject(result, "score", verdict->score);
    cJSON_AddNumberToObject(result, "waiting", waiting);
    cJSON *because = cJSON_AddArrayToObject(result, "because");
    for (size_t i = 0; i < verdict->n_because; i++)
        cJSON_AddItemToArray(because, cJSON_CreateString(verdict->because[i]));
    return result;
}

/* NULL: the input cannot be read, and the error is set. */
static cJSON *classified(const pgf_call *call, struct verdict *verdict)
{
    cJSON *thread = pgf_json_input(call);
    if (thread == NULL)
        return NULL;
    int waiting = count_waiting(pgf_json_member(thread, "messages"));
    char *text = customer_text(thread);
    classify(verdict, text, waiting);
    free(text);
    cJSON *result = verdict_json(thread, verdict, waiting);
    cJSON_Delete(thread);
    return result;
}

int32_t step_classify(void *state, const pgf_call *call)
{
    struct verdict verdict;
    (void)state;
    cJSON *result = classified(call, &verdict);
    return result == NULL ? PGF_PERMANENT : pgf_json_give(call, result);
}

int32_t step_classify_with_team(void *state, const pgf_call *call)
{
    struct verdict verdict;
    (void)state;
    cJSON *result = classified(call, &verdict);
    if (result == NULL)
        return PGF_PERMANENT;
    cJSON_AddStringToObject(result, "team", team_of(verdict.category));
    return pgf_json_give(call, result);
}
