/* my_flow: counts up to the number that a run is started with, squares each number in a task of
 * its own, and adds the squares up.
 *
 *     count_up ──▶ square (map) ──▶ add_up
 */
#include <pgflow/json.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 1000 };

/* A retry would not help: the input stays what it is. */
static int32_t refuse(const pgf_call *call, const char *why)
{
    call->set_error(call, why, strlen(why));
    return PGF_PERMANENT;
}

/* The run's input: a number. Gives [1, 2, ..., n]. */
static int32_t count_up(void *state, const pgf_call *call)
{
    int64_t n = 0;
    cJSON *input = pgf_json_flow_input(call);
    int is_number = pgf_json_int64(input, &n);
    (void)state;
    cJSON_Delete(input);
    if (!is_number || n < 1 || n > MOST)
        return refuse(call, "start the run with a whole number from 1 to 1000");

    cJSON *numbers = cJSON_CreateArray();
    for (int64_t i = 1; i <= n; i++)
        cJSON_AddItemToArray(numbers, pgf_json_from_int64(i));
    return pgf_json_give(call, numbers);
}

/* One element of what count_up gave. */
static int32_t square(void *state, const pgf_call *call)
{
    int64_t n = 0;
    cJSON *input = pgf_json_input(call);
    int is_number = pgf_json_int64(input, &n);
    (void)state;
    cJSON_Delete(input);
    if (!is_number || n > MOST || n < -MOST)
        return refuse(call, "not a number of count_up");
    return pgf_json_give(call, pgf_json_from_int64(n * n));
}

/* {"square": [1, 4, ...]} */
static int32_t add_up(void *state, const pgf_call *call)
{
    char text[64];
    int64_t sum = 0;
    int64_t n = 0;
    const cJSON *item = NULL;
    cJSON *input = pgf_json_input(call);
    (void)state;
    if (input == NULL)
        return PGF_PERMANENT; /* the helper has said why */
    cJSON_ArrayForEach(item, pgf_json_member(input, "square"))
    {
        sum += pgf_json_int64(item, &n) ? n : 0;
    }
    cJSON_Delete(input);

    snprintf(text, sizeof text, "the sum is %lld", (long long)sum);
    call->host->log(call->host, PGF_LOG_INFO, text, strlen(text));
    return pgf_json_give(call, pgf_json_from_int64(sum));
}

/* Once in each process, before any handler. */
static int32_t init(const pgf_host *host, void **state)
{
    (void)host;
    (void)state;
    pgf_json_abort_without_memory();
    return 0;
}

static const char *const after_count_up[] = {"count_up", NULL};
static const char *const after_square[] = {"square", NULL};

/* A contract says what goes in and out. Another meaning is another text, and another slug. */
static const pgf_step steps[] = {
    {.slug = "count_up", .run = count_up, .contract = "n -> [1..n]"},
    {.slug = "square",
     .kind = PGF_STEP_MAP,
     .deps = after_count_up,
     .run = square,
     .contract = "n -> n * n"},
    {.slug = "add_up", .deps = after_square, .run = add_up, .contract = "[n] -> sum"},
};

PGF_EXPORT const pgf_module pgflow_module_v1 = {
    PGF_MODULE_HEADER,  .flow_slug = "my_flow_v1", .alias = "my_flow",
    .version = "1.0.0", .steps = PGF_ARRAY(steps), .init = init};
