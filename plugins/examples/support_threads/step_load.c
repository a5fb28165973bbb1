/* SPDX-License-Identifier: Apache-2.0
 * Takes the threads from the run's input. What is wrong with them is said here, once and for
 * the whole run, so the steps behind need not fear it. */
#include "call_error.h"
#include "steps.h"

#include <pgflow/json.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* NULL or what is wrong with a message. */
static const char *message_problem(const cJSON *message)
{
    const char *from = pgf_json_text(message, "from", "");
    if (strcmp(from, "customer") != 0 && strcmp(from, "agent") != 0)
        return "has a message whose \"from\" is neither \"customer\" nor \"agent\"";
    if (pgf_json_text(message, "text", NULL) == NULL)
        return "has a message without a text \"text\"";
    return NULL;
}

static const char *thread_problem(const cJSON *thread)
{
    static const char *const optional[] = {"subject", "link"};
    const cJSON *messages = pgf_json_member(thread, "messages");
    const cJSON *message = NULL;
    if (pgf_json_text(thread, "id", "")[0] == '\0')
        return "has no text \"id\"";
    for (size_t i = 0; i < sizeof optional / sizeof optional[0]; i++) {
        const cJSON *member = pgf_json_member(thread, optional[i]);
        if (member != NULL && !cJSON_IsString(member))
            return "has a \"subject\" or \"link\" that is no text";
    }
    if (!cJSON_IsArray(messages))
        return "has no list \"messages\"";
    cJSON_ArrayForEach(message, messages)
    {
        const char *problem = message_problem(message);
        if (problem != NULL)
            return problem;
    }
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Of checked threads: two with one id would be two alerts for one matter. */
static bool has_id_twice(const cJSON *threads)
{
    size_t count = 0;
    bool twice = false;
    const cJSON *thread = NULL;
    const char **ids = calloc((size_t)cJSON_GetArraySize(threads) + 1, sizeof *ids);
    if (ids == NULL)
        abort(); /* as cJSON does in this module: one attempt of one task */
    cJSON_ArrayForEach(thread, threads) ids[count++] = pgf_json_text(thread, "id", "");
    qsort(ids, count, sizeof *ids, by_text);
    for (size_t i = 1; i < count && !twice; i++)
        twice = strcmp(ids[i - 1], ids[i]) == 0;
    free(ids);
    return twice;
}

static int32_t check_threads(const pgf_call *call, const cJSON *threads)
{
    int index = 0;
    const cJSON *thread = NULL;
    if (!cJSON_IsArray(threads))
        return call_error(call, PGF_PERMANENT, "the run's input has no list \"threads\"");
    cJSON_ArrayForEach(thread, threads)
    {
        const char *problem = thread_problem(thread);
        if (problem != NULL)
            return call_error(call, PGF_PERMANENT, "threads[%d] %s", index, problem);
        index++;
    }
    if (has_id_twice(threads))
        return call_error(call, PGF_PERMANENT, "two threads have the same \"id\"");
    return PGF_OK;
}

int32_t step_load(void *state, const pgf_call *call)
{
    (void)state;
    cJSON *run = pgf_json_flow_input(call);
    if (run == NULL)
        return PGF_PERMANENT;
    cJSON *threads = pgf_json_member(run, "threads");
    int32_t answer = check_threads(call, threads);
    if (answer == PGF_OK)
        answer = pgf_json_give(call, cJSON_DetachItemViaPointer(run, threads));
    cJSON_Delete(run);
    return answer;
}
