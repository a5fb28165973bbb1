#include "ctl/replay/findings_print.h"

#include "base/buf.h"
#include "ctl/plain.h"

#include <string.h>

#define REPORT_MOST ((size_t)64 << 20)

static double ms(uint64_t us)
{
    return (double)us / 1000;
}

static void print_value(const char *sign, const char *text)
{
    printf("    %s ", sign);
    plain_print_one_line(stdout, text != NULL ? text : "(not there)");
    printf("\n");
}

static void print_fields(const struct step_findings *step)
{
    for (size_t i = 0; i < step->field_count; i++) {
        const struct field *field = &step->fields[i];
        if (field->tasks == 0 && !field->unstable)
            continue;
        printf("  ");
        plain_print_one_line(stdout, field->name[0] != '\0' ? field->name : "(whole output)");
        if (!findings_is_regression(step, field)) {
            printf(": unstable, not compared\n");
            continue;
        }
        printf(": %zu %s, first run %s task %d at ", field->tasks,
               field->tasks == 1 ? "task" : "tasks", field->run_id, field->task_index);
        plain_print_one_line(stdout, field->path[0] != '\0' ? field->path : "(whole output)");
        printf("\n");
        print_value("-", field->before);
        print_value("+", field->after);
    }
}

static void print_baseline(struct step_findings *step)
{
    if (step->us_count[1] == 0)
        return;
    printf("  time p50 %.3f ms, OLD %.3f; p95 %.3f ms, OLD %.3f%s\n",
           ms(findings_time(step, 0, 50)), ms(findings_time(step, 1, 50)),
           ms(findings_time(step, 0, 95)), ms(findings_time(step, 1, 95)),
           findings_is_slower(step) ? ": slower" : "");
    printf("  memory %.1f MiB, OLD %.1f%s\n", (double)step->rss_kib[0] / 1024,
           (double)step->rss_kib[1] / 1024, findings_is_larger(step) ? ": larger" : "");
}

void findings_print(struct findings *findings)
{
    for (size_t i = 0; i < findings->plan->count; i++) {
        struct step_findings *step = &findings->steps[i];
        printf("%s: %zu replayed, %zu differ", findings->plan->steps[i].slug, step->tasks,
               findings_differing(step));
        if (step->died > 0)
            printf(", %zu died", step->died);
        if (step->unreadable > 0)
            printf(", %zu left out (the input is gone)", step->unreadable);
        if (findings->has_baseline && !findings->plan->steps[i].in_old)
            printf("; OLD has no such step, or another contract");
        printf("\n");
        print_fields(step);
        print_baseline(step);
    }
    for (size_t i = 0; i < findings->plan->left_count; i++)
        printf("%s: not replayed, %s\n", findings->plan->left[i].slug, findings->plan->left[i].why);
}

/* ---- JSON ---- */

static void put_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ", \"%s\": ", name);
    if (text != NULL)
        buf_put_json_string(out, text, strlen(text));
    else
        buf_puts(out, "null");
}

static void put_field(struct buf *out, const struct step_findings *step, const struct field *field)
{
    buf_puts(out, "{\"field\": ");
    buf_put_json_string(out, field->name, strlen(field->name));
    buf_printf(out, ", \"tasks\": %zu, \"unstable\": %s", field->tasks,
               findings_is_regression(step, field) ? "false" : "true");
    if (field->tasks > 0) {
        buf_printf(out, ", \"first\": {\"run_id\": \"%s\", \"task_index\": %d", field->run_id,
                   field->task_index);
        put_text(out, "path", field->path);
        put_text(out, "before", field->before);
        put_text(out, "after", field->after);
        buf_putc(out, '}');
    }
    buf_putc(out, '}');
}

static void put_build(struct buf *out, const char *name, struct step_findings *step, size_t build)
{
    buf_printf(out, ", \"%s\": {\"p50_ms\": %.3f, \"p95_ms\": %.3f, \"memory_kib\": %llu}", name,
               ms(findings_time(step, build, 50)), ms(findings_time(step, build, 95)),
               (unsigned long long)step->rss_kib[build]);
}

static void put_step(struct buf *out, struct findings *findings, size_t index)
{
    struct step_findings *step = &findings->steps[index];
    size_t count = 0;
    buf_printf(out,
               "%s{\"step\": \"%s\", \"replayed\": %zu, \"differing\": %zu, \"died\": %zu, "
               "\"left_out\": %zu, \"fields\": [",
               index > 0 ? ", " : "", findings->plan->steps[index].slug, step->tasks,
               findings_differing(step), step->died, step->unreadable);
    for (size_t i = 0; i < step->field_count; i++)
        if (step->fields[i].tasks > 0 || step->fields[i].unstable) {
            buf_puts(out, count++ > 0 ? ", " : "");
            put_field(out, step, &step->fields[i]);
        }
    buf_putc(out, ']');
    if (step->us_count[1] > 0) {
        put_build(out, "new", step, 0);
        put_build(out, "old", step, 1);
        buf_printf(out, ", \"slower\": %s, \"larger\": %s",
                   findings_is_slower(step) ? "true" : "false",
                   findings_is_larger(step) ? "true" : "false");
    }
    buf_putc(out, '}');
}

bool findings_print_json(struct findings *findings, bool differ, struct error *error)
{
    struct buf out;
    const struct plan *plan = findings->plan;
    buf_init(&out, REPORT_MOST);
    buf_printf(&out, "{\"verdict\": \"%s\", \"steps\": [", differ ? "differs" : "equal");
    for (size_t i = 0; i < plan->count; i++)
        put_step(&out, findings, i);
    buf_puts(&out, "], \"not_replayed\": [");
    for (size_t i = 0; i < plan->left_count; i++) {
        buf_printf(&out, "%s{\"step\": \"%s\"", i > 0 ? ", " : "", plan->left[i].slug);
        put_text(&out, "reason", plan->left[i].why);
        buf_putc(&out, '}');
    }
    buf_puts(&out, "]}\n");
    bool ok = buf_ok(&out) || error_out_of_memory(error);
    if (ok)
        (void)fwrite(out.data, 1, out.size, stdout);
    buf_free(&out);
    return ok;
}
