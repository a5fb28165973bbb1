#include "runner/descriptor_json.h"

#include <string.h>

static void put_text(struct buf *out, const char *text)
{
    if (text == NULL)
        buf_puts(out, "null");
    else
        buf_put_json_string(out, text, strlen(text));
}

static void put_member(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    put_text(out, text);
}

/* Only what is set: a missing member means "inherit". */
static void put_options(struct buf *out, const pgf_options *options)
{
    const struct {
        const char *name;
        pgf_int value;
    } all[] = {
        {"maxAttempts", options->max_attempts},
        {"baseDelay", options->base_delay_s},
        {"timeout", options->timeout_s},
        {"startDelay", options->start_delay_s},
    };
    const char *comma = "";
    buf_puts(out, ",\"options\":{");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!all[i].value.is_set)
            continue;
        buf_printf(out, "%s\"%s\":%d", comma, all[i].name, (int)all[i].value.value);
        comma = ",";
    }
    buf_putc(out, '}');
}

static void put_pattern(struct buf *out, const char *name, const char *pattern)
{
    buf_printf(out, ",\"%s\":{\"defined\":%s", name, pattern != NULL ? "true" : "false");
    if (pattern != NULL) {
        buf_puts(out, ",\"value\":");
        buf_puts(out, pattern);
    }
    buf_putc(out, '}');
}

static void put_dependencies(struct buf *out, const struct descriptor *descriptor,
                             const struct descriptor_step *step)
{
    buf_puts(out, ",\"dependencies\":[");
    for (uint32_t i = 0; i < step->n_deps; i++) {
        if (i > 0)
            buf_putc(out, ',');
        put_text(out, descriptor->steps[step->deps[i]].slug);
    }
    buf_putc(out, ']');
}

static void put_step(struct buf *out, const struct descriptor *descriptor, uint32_t index)
{
    const struct descriptor_step *step = &descriptor->steps[index];
    buf_puts(out, "{\"slug\":");
    put_text(out, step->slug);
    buf_printf(out, ",\"index\":%u", (unsigned)index);
    put_member(out, "stepType", descriptor_kind_name(step->kind));
    put_dependencies(out, descriptor, step);
    put_member(out, "queue", step->queue);
    put_member(out, "whenUnmet", step->when_unmet);
    put_member(out, "whenExhausted", step->when_exhausted);
    put_pattern(out, "requiredInputPattern", step->required_input);
    put_pattern(out, "forbiddenInputPattern", step->forbidden_input);
    put_options(out, &step->options);
    put_member(out, "contract", step->contract);
    buf_printf(out, ",\"wantsFlowInput\":%s}",
               (step->flags & PGF_WANTS_FLOW_INPUT) != 0 ? "true" : "false");
}

/* Every step's literal in the routed mode; in the others the routes follow from the
 * slugs, and the database derives them. */
static void put_routes(struct buf *out, const struct descriptor *descriptor)
{
    const char *comma = "";
    buf_puts(out, ",\"routes\":{");
    for (uint32_t i = 0; i < descriptor->n_steps && descriptor->queue_mode == PGF_QUEUE_ROUTED;
         i++) {
        buf_puts(out, comma);
        put_text(out, descriptor->steps[i].slug);
        buf_putc(out, ':');
        put_text(out, descriptor->steps[i].queue);
        comma = ",";
    }
    buf_putc(out, '}');
}

void descriptor_put_json(struct buf *out, const struct descriptor *descriptor)
{
    buf_printf(out, "{\"abi\":{\"major\":%u,\"minor\":%u,\"needsMinor\":%u}",
               (unsigned)PGF_ABI_MAJOR, (unsigned)descriptor->abi_minor,
               (unsigned)descriptor->needs_minor);
    put_member(out, "flowSlug", descriptor->flow_slug);
    put_member(out, "alias", descriptor->alias);
    put_member(out, "version", descriptor->version);
    put_member(out, "queueMode", descriptor_queue_mode_name(descriptor->queue_mode));
    put_options(out, &descriptor->options);
    put_routes(out, descriptor);
    buf_puts(out, ",\"steps\":[");
    for (uint32_t i = 0; i < descriptor->n_steps; i++) {
        if (i > 0)
            buf_putc(out, ',');
        put_step(out, descriptor, i);
    }
    buf_puts(out, "]}");
}
