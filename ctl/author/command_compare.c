/*
 * pgflowctl compare OLD.so NEW.so: may NEW keep the slug of OLD, where runs of OLD are open? By the
 * two files alone.
 */
#include "ctl/author/flow_difference.h"
#include "ctl/author/flow_module.h"
#include "ctl/command.h"
#include "ctl/plain.h"

#include "base/buf.h"
#include "base/json_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum verdict { SAME_SLUG_IS_SAFE, NEW_SLUG_NEEDED, NO_CONTRACT, NEW_VERSION };

static const char *const verdict_words[] = {
    [SAME_SLUG_IS_SAFE] = "same_slug_is_safe",
    [NEW_SLUG_NEEDED] = "new_slug_needed",
    [NO_CONTRACT] = "no_contract",
    [NEW_VERSION] = "new_version",
};

struct lines {
    struct buf text[FLOW_LINE_KINDS]; /* lines, each ends with a NUL */
    size_t count[FLOW_LINE_KINDS];
};

static void keep_line(void *ctx, enum flow_line_kind kind, const char *text)
{
    struct lines *lines = ctx;
    buf_put(&lines->text[kind], text, strlen(text) + 1);
    lines->count[kind]++;
}

static enum verdict judge(const struct flow_module *old, const struct flow_module *new,
                          const struct lines *lines)
{
    if (strcmp(old->flow, new->flow) != 0)
        return NEW_VERSION;
    if (lines->count[FLOW_DIFFERS] > 0)
        return NEW_SLUG_NEEDED;
    return lines->count[FLOW_WITHOUT_CONTRACT] > 0 ? NO_CONTRACT : SAME_SLUG_IS_SAFE;
}

static void print_lines(const struct lines *lines, enum flow_line_kind kind, const char *title)
{
    const char *line = lines->text[kind].data;
    if (lines->count[kind] == 0)
        return;
    printf("%s\n", title);
    for (size_t i = 0; i < lines->count[kind]; i++, line += strlen(line) + 1) {
        printf("  ");
        plain_print_one_line(stdout, line);
        printf("\n");
    }
}

static void print_text(enum verdict verdict, const struct flow_module *old,
                       const struct flow_module *new, const struct lines *lines)
{
    switch (verdict) {
    case SAME_SLUG_IS_SAFE:
        printf("%s: the same slug is safe\n", old->flow);
        break;
    case NEW_SLUG_NEEDED:
        printf("%s: take a new slug; a compiled flow never changes\n", old->flow);
        break;
    case NO_CONTRACT:
        printf("%s: the same shape, but without a contract nothing says whether the handlers still "
               "agree; state one\n",
               old->flow);
        break;
    case NEW_VERSION:
        printf("%s, %s: versions of %s that run side by side\n", old->flow, new->flow, old->alias);
        break;
    }
    print_lines(lines, FLOW_DIFFERS, "differs:");
    print_lines(lines, FLOW_OPTION_DIFFERS,
                "options differ (the database keeps its own until pgflowctl options --apply):");
    if (verdict == NO_CONTRACT)
        print_lines(lines, FLOW_WITHOUT_CONTRACT, "without a contract:");
}

static void put_list(struct buf *out, const char *name, const struct lines *lines,
                     enum flow_line_kind kind)
{
    const char *line = lines->text[kind].data;
    buf_printf(out, ", \"%s\": [", name);
    for (size_t i = 0; i < lines->count[kind]; i++, line += strlen(line) + 1) {
        buf_puts(out, i > 0 ? ", " : "");
        buf_put_json_string(out, line, strlen(line));
    }
    buf_putc(out, ']');
}

static bool print_json(enum verdict verdict, const struct flow_module *old,
                       const struct flow_module *new, const struct lines *lines,
                       struct error *error)
{
    struct buf out;
    buf_init(&out, LIMIT_DESCRIPTOR_JSON);
    buf_printf(&out,
               "{\"verdict\": \"%s\", \"old_flow\": \"%s\", \"new_flow\": \"%s\", "
               "\"alias\": \"%s\"",
               verdict_words[verdict], old->flow, new->flow, new->alias);
    put_list(&out, "differences", lines, FLOW_DIFFERS);
    put_list(&out, "option_differences", lines, FLOW_OPTION_DIFFERS);
    put_list(&out, "steps_without_contract", lines, FLOW_WITHOUT_CONTRACT);
    buf_puts(&out, "}\n");
    bool ok = buf_ok(&out) || error_out_of_memory(error);
    if (ok)
        (void)fputs(out.data, stdout);
    buf_free(&out);
    return ok;
}

static int exit_of(enum verdict verdict)
{
    switch (verdict) {
    case NEW_SLUG_NEEDED:
        return ERROR_ANSWER_NO;
    case NO_CONTRACT:
        return ERROR_CONFIG;
    case SAME_SLUG_IS_SAFE:
    case NEW_VERSION:
        break;
    }
    return DONE;
}

static int compare(const struct flow_module *old, const struct flow_module *new,
                   struct lines *lines, bool json, struct error *error)
{
    bool ok = true;
    if (!flow_module_check_related(old, new, error))
        return FAILED;
    if (!flow_compare(old->view, new->view, keep_line, lines, error))
        return FAILED;
    for (size_t kind = 0; kind < FLOW_LINE_KINDS; kind++)
        ok = ok && (buf_ok(&lines->text[kind]) || error_out_of_memory(error));
    if (!ok)
        return FAILED;
    enum verdict verdict = judge(old, new, lines);
    if (json)
        ok = print_json(verdict, old, new, lines, error);
    else
        print_text(verdict, old, new, lines);
    return ok ? exit_of(verdict) : FAILED;
}

static int execute(struct invocation *invocation, struct error *error)
{
    struct flow_module old = {.descriptor = NULL}, new = {.descriptor = NULL};
    struct lines lines = {.count = {0}};
    int status = FAILED;
    for (size_t kind = 0; kind < FLOW_LINE_KINDS; kind++)
        buf_init(&lines.text[kind], LIMIT_DESCRIPTOR_JSON);
    if (flow_module_read(&old, invocation->arguments[0], error) &&
        flow_module_read(&new, invocation->arguments[1], error))
        status = compare(&old, &new, &lines, invocation->json, error);
    for (size_t kind = 0; kind < FLOW_LINE_KINDS; kind++)
        buf_free(&lines.text[kind]);
    flow_module_free(&old);
    flow_module_free(&new);
    return status;
}

const struct command command_compare = {
    .name = "compare",
    .arguments = "OLD.so NEW.so",
    .summary = "tell whether a new build of a flow may keep its slug",
    .help = "Reads the two files alone, and tells what the database would say of NEW where OLD\n"
            "is compiled and has open runs. Exit 0: the same slug is safe, or NEW has another\n"
            "slug and both run side by side. Exit 1: take a new slug; the differences are\n"
            "listed. Exit 78: the shape is the same, but a step has no contract text, so nothing\n"
            "tells whether its handler still reads and writes the same. Options may differ: the\n"
            "database keeps its own.\n",
    .least = 2,
    .most = 2,
    .examples = "pgflowctl compare released/audit_v2.so build/audit_v2.so\n",
    .run = execute,
};
