/* SPDX-License-Identifier: Apache-2.0
 * Counts what the scans found. */
#include "call_text.h"
#include "license_set.h"
#include "steps.h"
#include "tally.h"

#include <pgflow/json.h>
#include <string.h>

struct summary {
    int packages, unreadable, unrecognised;
    struct tally licenses, families;
};

/* A package counts once in each family that it has. */
static bool count_families(struct tally *families, const cJSON *licenses)
{
    struct tally mine = {0};
    const cJSON *license = NULL;
    bool ok = true;
    cJSON_ArrayForEach(license, licenses) ok =
        ok && tally_add(&mine, license_family(cJSON_GetStringValue(license)));
    for (size_t i = 0; i < mine.count && ok; i++)
        ok = tally_add(families, mine.entries[i].name);
    tally_finish(&mine);
    return ok;
}

static bool count_package(struct summary *summary, const cJSON *scan)
{
    const cJSON *licenses = cJSON_GetObjectItemCaseSensitive(scan, "licenses");
    const cJSON *license = NULL;
    summary->packages++;
    if (cJSON_HasObjectItem(scan, "unreadable"))
        summary->unreadable++;
    else if (cJSON_GetArraySize(licenses) == 0)
        summary->unrecognised++;
    cJSON_ArrayForEach(license, licenses)
    {
        if (!cJSON_IsString(license) || !tally_add(&summary->licenses, license->valuestring))
            return false;
    }
    return count_families(&summary->families, licenses);
}

static void add_tally(cJSON *result, const char *member, const char *key, struct tally *tally)
{
    cJSON *list = cJSON_AddArrayToObject(result, member);
    tally_sort(tally);
    for (size_t i = 0; i < tally->count; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, key, tally->entries[i].name);
        cJSON_AddNumberToObject(row, "packages", tally->entries[i].count);
        cJSON_AddItemToArray(list, row);
    }
}

static int32_t give_summary(const pgf_call *call, struct summary *summary, bool with_families)
{
    cJSON *result = cJSON_CreateObject();
    cJSON_AddNumberToObject(result, "packages", summary->packages);
    cJSON_AddNumberToObject(result, "unreadable", summary->unreadable);
    cJSON_AddNumberToObject(result, "unrecognised", summary->unrecognised);
    add_tally(result, "byLicense", "license", &summary->licenses);
    if (with_families)
        add_tally(result, "byFamily", "family", &summary->families);
    return pgf_json_give(call, result);
}

static int32_t summarise(const pgf_call *call, bool with_families)
{
    cJSON *input = pgf_json_input(call);
    const cJSON *scan = NULL;
    struct summary summary = {0};
    bool ok = input != NULL;
    cJSON_ArrayForEach(scan, cJSON_GetObjectItemCaseSensitive(input, "scan")) ok =
        ok && count_package(&summary, scan);
    int32_t answer = ok ? give_summary(call, &summary, with_families)
                        : call_fail(call, PGF_ERROR, "the results of scan cannot be read");
    tally_finish(&summary.licenses);
    tally_finish(&summary.families);
    cJSON_Delete(input);
    return answer;
}

int32_t step_summary(void *state, const pgf_call *call)
{
    (void)state;
    return summarise(call, false);
}

int32_t step_summary_with_families(void *state, const pgf_call *call)
{
    (void)state;
    return summarise(call, true);
}
