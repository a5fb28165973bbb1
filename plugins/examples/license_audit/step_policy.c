/* SPDX-License-Identifier: Apache-2.0
 * Version 2: what the run's policy asks to be flagged, and the packages that it flags. */
#include "call_text.h"
#include "license_set.h"
#include "steps.h"

#include <pgflow/json.h>
#include <string.h>

static bool has_text(const cJSON *list, const char *text)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item) && strcmp(item->valuestring, text) == 0)
            return true;
    }
    return false;
}

/* NULL or what is wrong with a list of names. */
static const char *list_problem(const cJSON *list, const char *const *allowed)
{
    const cJSON *item = NULL;
    if (list != NULL && !cJSON_IsArray(list))
        return "is no list";
    cJSON_ArrayForEach(item, list)
    {
        const char *const *name = allowed;
        if (!cJSON_IsString(item))
            return "has a member that is no text";
        while (name != NULL && *name != NULL && strcmp(*name, item->valuestring) != 0)
            name++;
        if (name != NULL && *name == NULL)
            return "has a member that is none of permissive, weak-copyleft, copyleft, "
                   "public-domain and other";
    }
    return NULL;
}

static void add_list(cJSON *result, const char *name, const cJSON *list, const char *otherwise)
{
    cJSON *copy = list != NULL ? cJSON_Duplicate(list, 1) : cJSON_CreateArray();
    if (list == NULL && otherwise != NULL)
        cJSON_AddItemToArray(copy, cJSON_CreateString(otherwise));
    cJSON_AddItemToObject(result, name, copy);
}

int32_t step_policy(void *state, const pgf_call *call)
{
    static const char *const families[] = {"permissive",    "weak-copyleft", "copyleft",
                                           "public-domain", "other",         NULL};
    (void)state;
    cJSON *run = pgf_json_flow_input(call);
    if (run == NULL)
        return PGF_PERMANENT;
    const cJSON *policy = cJSON_GetObjectItemCaseSensitive(run, "policy");
    const cJSON *flagged = cJSON_GetObjectItemCaseSensitive(policy, "families");
    const cJSON *except = cJSON_GetObjectItemCaseSensitive(policy, "except");
    const char *problem = list_problem(flagged, families);
    int32_t answer = PGF_ERROR;
    if (problem != NULL) {
        answer = call_fail(call, PGF_PERMANENT, "policy.families %s", problem);
    } else if ((problem = list_problem(except, NULL)) != NULL) {
        answer = call_fail(call, PGF_PERMANENT, "policy.except %s", problem);
    } else {
        cJSON *result = cJSON_CreateObject();
        add_list(result, "families", flagged, "copyleft");
        add_list(result, "except", except, NULL);
        answer = pgf_json_give(call, result);
    }
    cJSON_Delete(run);
    return answer;
}

/* Adds the package to the list when one of its licences is of a flagged family. */
static void flag_package(cJSON *list, const cJSON *scan, const cJSON *policy)
{
    const cJSON *families = cJSON_GetObjectItemCaseSensitive(policy, "families");
    const cJSON *except = cJSON_GetObjectItemCaseSensitive(policy, "except");
    const char *package = pgf_json_text(scan, "package", "");
    const cJSON *license = NULL;
    cJSON *found = cJSON_CreateArray();
    cJSON_ArrayForEach(license, cJSON_GetObjectItemCaseSensitive(scan, "licenses"))
    {
        if (cJSON_IsString(license) && has_text(families, license_family(license->valuestring)))
            cJSON_AddItemToArray(found, cJSON_CreateString(license->valuestring));
    }
    if (cJSON_GetArraySize(found) == 0 || has_text(except, package)) {
        cJSON_Delete(found);
        return;
    }
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "package", package);
    cJSON_AddItemToObject(row, "licenses", found);
    cJSON_AddItemToArray(list, row);
}

int32_t step_flag_copyleft(void *state, const pgf_call *call)
{
    (void)state;
    cJSON *input = pgf_json_input(call);
    if (input == NULL)
        return PGF_PERMANENT;
    const cJSON *policy = cJSON_GetObjectItemCaseSensitive(input, "policy");
    const cJSON *scan = NULL;
    cJSON *list = cJSON_CreateArray();
    cJSON_ArrayForEach(scan, cJSON_GetObjectItemCaseSensitive(input, "scan"))
        flag_package(list, scan, policy);
    cJSON *result = cJSON_CreateObject();
    cJSON_AddNumberToObject(result, "flagged", cJSON_GetArraySize(list));
    cJSON_AddItemToObject(result, "packages", list);
    cJSON_Delete(input);
    return pgf_json_give(call, result);
}
