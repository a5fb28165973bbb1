/* Checks on what the fields of a descriptor say: options, words, patterns, texts, routes
 * and handlers. */
#include "runner/descriptor_reading.h"

#include "base/json_check.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

struct option_rule {
    const char *name;
    size_t offset; /* in a pgf_options */
    int32_t least, most;
};

static const struct option_rule option_rules[] = {
    {"options.max_attempts", offsetof(pgf_options, max_attempts), 1, 1000},
    {"options.base_delay_s", offsetof(pgf_options, base_delay_s), 0, 86400},
    {"options.timeout_s", offsetof(pgf_options, timeout_s), 1, 604800},
    {"options.start_delay_s", offsetof(pgf_options, start_delay_s), 0, 31536000},
};

static bool check_option(struct reading *reading, const char *field, const pgf_options *options,
                         const struct option_rule *rule)
{
    char expected[64];
    pgf_int value;
    memcpy(&value, (const char *)options + rule->offset, sizeof value);
    if (value.is_set > 1)
        return reading_refuse(reading, field,
                              found_format(reading, "{is_set %u}", (unsigned)value.is_set),
                              "is_set 0 or 1", "write PGF_INT(n), or zero it to inherit");
    if (value.is_set == 0 || (value.value >= rule->least && value.value <= rule->most))
        return true;
    snprintf(expected, sizeof expected, "%d to %d", (int)rule->least, (int)rule->most);
    return reading_refuse(reading, field, found_format(reading, "%d", (int)value.value), expected,
                          "change it, or leave it out to inherit");
}

static bool check_flow_options(struct reading *reading)
{
    const pgf_options *options = &reading->out->options;
    for (size_t k = 0; k < sizeof option_rules / sizeof option_rules[0]; k++)
        if (!check_option(reading, option_rules[k].name, options, &option_rules[k]))
            return false;
    if (options->start_delay_s.is_set)
        return reading_refuse(reading, "options.start_delay_s", "set for the flow",
                              "a start delay in steps only", "set it in the options of each step");
    return true;
}

bool check_option_ranges(struct reading *reading)
{
    if (!check_flow_options(reading))
        return false;
    for (uint32_t i = 0; i < reading->module.n_steps; i++)
        for (size_t k = 0; k < sizeof option_rules / sizeof option_rules[0]; k++)
            if (!check_option(reading, field_of_step(reading, i, option_rules[k].name),
                              &reading->steps[i].options, &option_rules[k]))
                return false;
    return true;
}

static bool check_when(struct reading *reading, const char *field, const char *foreign,
                       const char *otherwise, const char **out)
{
    static const char *const words[] = {"fail", "skip", "skip-cascade"};
    const char *text = NULL;
    *out = otherwise;
    if (foreign == NULL)
        return true;
    if (!reading_text(reading, field, foreign, LIMIT_DESCRIPTOR_TEXT, &text))
        return false;
    *out = text;
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
        if (strcmp(text, words[k]) == 0)
            return true;
    return reading_refuse(reading, field, found_text(reading, text, strlen(text)),
                          "\"fail\", \"skip\" or \"skip-cascade\"",
                          "write one of them, or NULL for the default");
}

bool check_when_words(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->module.n_steps; i++) {
        const pgf_step *raw = &reading->raw[i];
        struct descriptor_step *step = &reading->steps[i];
        if (!check_when(reading, field_of_step(reading, i, "when_unmet"), raw->when_unmet, "skip",
                        &step->when_unmet) ||
            !check_when(reading, field_of_step(reading, i, "when_exhausted"), raw->when_exhausted,
                        "fail", &step->when_exhausted))
            return false;
    }
    return true;
}

static bool check_pattern(struct reading *reading, const char *field, const char *foreign,
                          const char **out)
{
    struct error problem = {0};
    char expected[] = "a JSON object of at most 64 KiB";
    if (foreign == NULL)
        return true;
    if (!reading_text(reading, field, foreign, LIMIT_DESCRIPTOR_PATTERN, out))
        return false;
    if (!json_check_text(*out, strlen(*out), &problem))
        return reading_refuse(reading, field, problem.text, expected, "correct the pattern");
    if ((*out)[strspn(*out, " \t\r\n")] != '{')
        return reading_refuse(reading, field, found_text(reading, *out, strlen(*out)), expected,
                              "a pattern is contained in the input: write the members to look for");
    return true;
}

bool check_patterns(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->module.n_steps; i++) {
        const pgf_step *raw = &reading->raw[i];
        struct descriptor_step *step = &reading->steps[i];
        if (!check_pattern(reading, field_of_step(reading, i, "required_input"),
                           raw->required_input, &step->required_input) ||
            !check_pattern(reading, field_of_step(reading, i, "forbidden_input"),
                           raw->forbidden_input, &step->forbidden_input))
            return false;
    }
    return true;
}

/* PostgreSQL would refuse what is no UTF-8, much later and less clearly. */
static bool check_free_text(struct reading *reading, const char *field, const char *foreign,
                            const char **out)
{
    if (foreign == NULL)
        return true;
    if (!reading_text(reading, field, foreign, LIMIT_DESCRIPTOR_TEXT, out))
        return false;
    if (text_is_utf8(*out, strlen(*out)))
        return true;
    return reading_refuse(reading, field, found_text(reading, *out, strlen(*out)), "UTF-8",
                          "save the source file as UTF-8");
}

bool check_other_text(struct reading *reading)
{
    if (!check_free_text(reading, "version", reading->module.version, &reading->out->version))
        return false;
    for (uint32_t i = 0; i < reading->module.n_steps; i++)
        if (!check_free_text(reading, field_of_step(reading, i, "contract"),
                             reading->raw[i].contract, &reading->steps[i].contract))
            return false;
    return true;
}

/* Letters, digits, '_' and single '-' inside: a literal as pgflow.queues takes it, once
 * folded to lower case. */
static bool is_queue_literal(const char *text)
{
    size_t len = strlen(text);
    if (len == 0 || text[0] == '-' || text[len - 1] == '-' || strstr(text, "--") != NULL)
        return false;
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == len;
}

static bool check_route(struct reading *reading, uint32_t i, const char *mode)
{
    const char *foreign = reading->raw[i].queue;
    const char *field = field_of_step(reading, i, "queue");
    const char *text = NULL;
    char expected[96];
    if (foreign == NULL && reading->module.queue_mode != PGF_QUEUE_ROUTED)
        return true;
    if (foreign == NULL)
        return reading_refuse(reading, field, "NULL",
                              "a queue in every step: the queue mode is PGF_QUEUE_ROUTED",
                              "name the queue of this step, or choose another mode");
    if (!reading_text(reading, field, foreign, LIMIT_DESCRIPTOR_TEXT, &text))
        return false;
    reading->steps[i].queue = text;
    if (reading->module.queue_mode != PGF_QUEUE_ROUTED) {
        snprintf(expected, sizeof expected,
                 "NULL: in queue mode '%s' the queue follows from the "
                 "slugs",
                 mode);
        return reading_refuse(reading, field, found_text(reading, text, strlen(text)), expected,
                              "remove it, or set queue_mode to PGF_QUEUE_ROUTED");
    }
    return is_queue_literal(text) ||
           reading_refuse(reading, field, found_text(reading, text, strlen(text)),
                          "letters, digits, '_' and single '-' inside", "rename the queue");
}

bool check_routes(struct reading *reading)
{
    const char *mode = descriptor_queue_mode_name(reading->module.queue_mode);
    for (uint32_t i = 0; i < reading->module.n_steps; i++)
        if (!check_route(reading, i, mode))
            return false;
    return true;
}

/* The queue before folding: that of pgflow._private_queue in queue mode step. Slugs are at most
 * LIMIT_SLUG, literals LIMIT_DESCRIPTOR_TEXT. */
static void derive_queue(const struct reading *reading, uint32_t i, char *out, size_t size)
{
    const char *flow = reading->out->flow_slug;
    const struct descriptor_step *step = &reading->steps[i];
    if (reading->module.queue_mode == PGF_QUEUE_ROUTED)
        snprintf(out, size, "%s", step->queue);
    else if (reading->module.queue_mode == PGF_QUEUE_STEP &&
             strlen(flow) + 2 + strlen(step->slug) <= LIMIT_QUEUE_NAME)
        snprintf(out, size, "%s__%s", flow, step->slug);
    else if (reading->module.queue_mode == PGF_QUEUE_STEP)
        snprintf(out, size, "%s__%u", flow, (unsigned)i);
    else
        snprintf(out, size, "%s", flow);
}

bool check_queue_names(struct reading *reading)
{
    char name[LIMIT_DESCRIPTOR_TEXT + 1];
    for (uint32_t i = 0; i < reading->module.n_steps; i++) {
        derive_queue(reading, i, name, sizeof name);
        size_t len = strlen(name);
        if (len > LIMIT_QUEUE_NAME) {
            char shown[160];
            snprintf(shown, sizeof shown, "\"%.120s\" (%zu bytes)", name, len);
            return reading_refuse(reading, field_of_step(reading, i, "queue"), shown,
                                  "a queue name of at most 47 bytes",
                                  reading->module.queue_mode == PGF_QUEUE_ROUTED
                                      ? "shorten the queue's name"
                                      : "shorten the slugs that it is made of, or route the steps");
        }
        char *queue = reading_alloc(reading, len + 1);
        if (queue == NULL || !text_lower(queue, len + 1, name))
            return false;
        reading->steps[i].queue = queue;
    }
    return true;
}

static bool check_code(struct reading *reading, const char *field, uintptr_t address)
{
    if (probe_code(address) != PROBE_UNREADABLE)
        return true;
    return reading_refuse(
        reading, field,
        found_format(reading, "0x%llx, where no code is", (unsigned long long)address),
        "the address of a function of the module",
        "set it to a function, and take no address that is known only at run time");
}

static bool check_step_handler(struct reading *reading, uint32_t i)
{
    pgf_handler run = reading->raw[i].run;

    if (run == NULL)
        return reading_refuse(reading, field_of_step(reading, i, "run"), "NULL", "a handler",
                              "set the function that runs the step");
    return (i > 0 && run == reading->raw[i - 1].run) ||
           check_code(reading, field_of_step(reading, i, "run"), (uintptr_t)run);
}

bool check_handlers(struct reading *reading)
{
    const struct {
        const char *field;
        uintptr_t address;
    } others[] = {{"init", (uintptr_t)reading->module.init},
                  {"fini", (uintptr_t)reading->module.fini},
                  {"extension", (uintptr_t)reading->module.extension}};

    for (uint32_t i = 0; i < reading->module.n_steps; i++)
        if (!check_step_handler(reading, i))
            return false;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].address != 0 && !check_code(reading, others[i].field, others[i].address))
            return false;
    return true;
}
