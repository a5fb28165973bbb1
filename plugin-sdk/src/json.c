/* SPDX-License-Identifier: Apache-2.0
 * The helpers of pgflow/json.h but its parser. C99 as that is, compiled into the module that uses
 * them: part of no ABI. */
#include <pgflow/json.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cJSON prints integers exactly up to here (see json_parse.c); a double holds them further. */
static const uint64_t printed_exactly = UINT64_C(999999999999999);
static const uint64_t exact_in_double = (uint64_t)1 << 53;

static void say(const pgf_call *call, const char *text)
{
    call->set_error(call, text, strlen(text));
}

static cJSON *parse_for(const pgf_call *call, pgf_str json, const char *name)
{
    char text[160];
    pgf_json_problem problem;
    cJSON *item = pgf_json_parse(json.ptr, json.len, &problem);

    if (item == NULL) {
        (void)snprintf(text, sizeof text, "%s: %s at byte %zu", name, problem.what, problem.offset);
        say(call, text);
    }
    return item;
}

cJSON *pgf_json_input(const pgf_call *call)
{
    return parse_for(call, call->input, "the input is not JSON");
}

cJSON *pgf_json_flow_input(const pgf_call *call)
{
    if (call->flow_input.len == 0) {
        say(call, "the step has no flow_input: set PGF_WANTS_FLOW_INPUT in its flags");
        return NULL;
    }
    return parse_for(call, call->flow_input, "the run's input is not JSON");
}

/* cJSON would print null for it. As deep as the tree, like cJSON's own printing. */
static int has_no_number(const cJSON *item)
{
    for (; item != NULL; item = item->next)
        if ((cJSON_IsNumber(item) && !isfinite(item->valuedouble)) || has_no_number(item->child))
            return 1;
    return 0;
}

int32_t pgf_json_give(const pgf_call *call, cJSON *result)
{
    int is_number = !has_no_number(result);
    char *text = result == NULL || !is_number ? NULL : cJSON_PrintUnformatted(result);
    int32_t status = PGF_OK;

    cJSON_Delete(result);
    if (!is_number) {
        say(call, "the result has a number that is none (NaN or infinity), which JSON cannot say");
        status = PGF_PERMANENT;
    } else if (text == NULL) {
        say(call, "out of memory for the result");
        status = PGF_ERROR;
    } else if (call->write(call, text, strlen(text)) != 0) {
        say(call, "the result is larger than the host takes");
        status = PGF_PERMANENT;
    }
    cJSON_free(text);
    return status;
}

/* 0: not digits alone, or more than a uint64_t holds. */
static int digits(const char *text, uint64_t *value)
{
    if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
        return 0;
    errno = 0;
    *value = strtoull(text, NULL, 10);
    return errno == 0;
}

/* The magnitude of a whole number, and whether it is negative. 0: it is no whole number, or too
 * large. */
static int whole(const cJSON *item, uint64_t *magnitude, int *negative)
{
    if (item == NULL)
        return 0;
    if (cJSON_IsRaw(item) && item->valuestring != NULL) {
        *negative = item->valuestring[0] == '-';
        return digits(item->valuestring + *negative, magnitude);
    }
    if (!cJSON_IsNumber(item) || !(item->valuedouble <= (double)exact_in_double) ||
        !(item->valuedouble >= -(double)exact_in_double))
        return 0;
    *negative = item->valuedouble < 0;
    *magnitude = (uint64_t)(*negative ? -item->valuedouble : item->valuedouble);
    return (double)*magnitude == (*negative ? -item->valuedouble : item->valuedouble);
}

int pgf_json_int64(const cJSON *item, int64_t *value)
{
    uint64_t magnitude;
    int negative;

    if (!whole(item, &magnitude, &negative) || magnitude > (uint64_t)INT64_MAX + (negative != 0))
        return 0;
    if (!negative)
        *value = (int64_t)magnitude;
    else if (magnitude == 0)
        *value = 0;
    else
        *value = -(int64_t)(magnitude - 1) - 1;
    return 1;
}

int pgf_json_uint64(const cJSON *item, uint64_t *value)
{
    uint64_t magnitude;
    int negative;

    if (!whole(item, &magnitude, &negative) || (negative && magnitude > 0))
        return 0;
    *value = magnitude;
    return 1;
}

cJSON *pgf_json_from_int64(int64_t value)
{
    char text[32];

    if (value >= -(int64_t)printed_exactly && value <= (int64_t)printed_exactly)
        return cJSON_CreateNumber((double)value);
    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    return cJSON_CreateRaw(text);
}

cJSON *pgf_json_from_uint64(uint64_t value)
{
    char text[32];

    if (value <= printed_exactly)
        return cJSON_CreateNumber((double)value);
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return cJSON_CreateRaw(text);
}

cJSON *pgf_json_member(const cJSON *object, const char *name)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

const char *pgf_json_text(const cJSON *object, const char *name, const char *otherwise)
{
    const char *text = cJSON_GetStringValue(pgf_json_member(object, name));

    return text != NULL ? text : otherwise;
}

static void *allocate_or_abort(size_t size)
{
    void *memory = malloc(size);

    if (memory == NULL) {
        (void)fputs("out of memory\n", stderr);
        abort();
    }
    return memory;
}

void pgf_json_abort_without_memory(void)
{
    cJSON_Hooks hooks = {allocate_or_abort, free};

    cJSON_InitHooks(&hooks);
}
