/*
 * pgflowctl lint FILE.so: what will trouble a module though it loads, each with
 * its remedy; and whether a host would take it at all.
 */
#include "ctl/author/flow_difference.h"
#include "ctl/author/flow_module.h"
#include "ctl/author/lint.h"
#include "ctl/command.h"
#include "ctl/module_descriptor.h"
#include "ctl/plain.h"

#include "module/module_bytes.h"
#include "module/module_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Would a host take the file and its descriptor? */
static bool look_at_start(struct lint *lint, const struct module_bytes *bytes, const char *path,
                          struct error *error)
{
    struct error refusal;
    int runner = runner_program_open(NULL, error);
    if (runner < 0)
        return false;
    if (!module_bytes_check_owner(bytes, &refusal))
        lint_add(lint, "writable", "as it says; a host takes it with --allow-writable-plugins only",
                 "%s", refusal.text);
    char *descriptor = module_inspect(runner, path, false, NULL, &refusal);
    if (descriptor == NULL || !module_descriptor_check(path, descriptor, &refusal))
        lint_add(lint, "refused", "pgflowctl inspect says the same", "%s", refusal.text);
    free(descriptor);
    (void)close(runner);
    return true;
}

static bool look(struct lint *lint, const char *path, struct error *error)
{
    struct module_bytes bytes = {0};
    struct elf_image image;
    bool ok = module_bytes_open(&bytes, path, error) &&
              elf_image_read(&image, bytes.data, bytes.size, error) &&
              lint_elf(lint, &bytes, error) && lint_names(lint, bytes.real_path, error) &&
              look_at_start(lint, &bytes, path, error);
    module_bytes_close(&bytes);
    return ok || error_wrap(error, "%s", path);
}

static void find_difference(void *ctx, enum flow_line_kind kind, const char *text)
{
    if (kind == FLOW_DIFFERS)
        lint_add(ctx, "slug", "take a new slug; a compiled flow never changes", "%s", text);
    else if (kind == FLOW_WITHOUT_CONTRACT)
        lint_add(ctx, "contract", "state one, or nothing says whether the two builds agree",
                 "%s has no contract", text);
}

/* As `pgflowctl compare`; another slug of the alias has nothing to keep. */
static bool look_against(struct lint *lint, const char *old_path, const char *path,
                         struct error *error)
{
    struct flow_module old = {.descriptor = NULL}, new = {.descriptor = NULL};
    bool ok = flow_module_read(&old, old_path, error) && flow_module_read(&new, path, error) &&
              flow_module_check_related(&old, &new, error);
    if (ok && strcmp(old.flow, new.flow) == 0)
        ok = flow_compare(old.view, new.view, find_difference, lint, error);
    flow_module_free(&old);
    flow_module_free(&new);
    return ok;
}

static void print_text(const struct lint *lint, const char *path)
{
    for (size_t i = 0; i < lint->count; i++)
        printf("%-10s %s\n%-10s -> %s\n", lint->findings[i].check, lint_text(lint, i), "",
               lint->findings[i].remedy);
    if (lint->count == 0) {
        plain_print(stdout, path);
        printf(": nothing to say against it\n");
    }
}

static void put_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, "\"%s\":", name);
    buf_put_json_string(out, text, strlen(text));
}

static bool print_json(const struct lint *lint, struct error *error)
{
    struct buf out;
    buf_init(&out, LIMIT_MIB);
    buf_putc(&out, '[');
    for (size_t i = 0; i < lint->count; i++) {
        buf_puts(&out, i > 0 ? ",{" : "{");
        put_text(&out, "check", lint->findings[i].check);
        buf_putc(&out, ',');
        put_text(&out, "text", lint_text(lint, i));
        buf_putc(&out, ',');
        put_text(&out, "remedy", lint->findings[i].remedy);
        buf_putc(&out, '}');
    }
    buf_puts(&out, "]\n");
    bool ok = buf_ok(&out) || error_out_of_memory(error);
    if (ok)
        (void)fputs(out.data, stdout);
    buf_free(&out);
    return ok;
}

static int execute(struct invocation *invocation, struct error *error)
{
    struct lint lint;
    int status = FAILED;
    lint_init(&lint);
    const char *old_path = invocation_value(invocation, "against");
    if (look(&lint, invocation->arguments[0], error) &&
        (old_path == NULL || look_against(&lint, old_path, invocation->arguments[0], error)) &&
        (buf_ok(&lint.texts) || error_out_of_memory(error))) {
        bool printed = true;
        if (invocation->json)
            printed = print_json(&lint, error);
        else
            print_text(&lint, invocation->arguments[0]);
        if (printed)
            status = lint.count == 0 ? DONE : ERROR_ANSWER_NO;
    }
    lint_free(&lint);
    return status;
}

const struct command command_lint = {
    .name = "lint",
    .arguments = "FILE.so",
    .summary = "find what will trouble a module that loads",
    .help = "Finds extra exports, process-wide C++ statics, a descriptor made by code, text\n"
            "relocations, RPATH, missing names and libraries, tables left writable, a missing\n"
            "build-id, an executable stack and a file that others may change. It also tells\n"
            "whether a host would take the module. Each finding comes with its remedy, and any\n"
            "finding makes the exit status 1. Of the module only its constructors run, in a\n"
            "throw-away process.\n",
    .least = 1,
    .most = 1,
    .examples = "pgflowctl lint ./audit_v2.so\n"
                "pgflowctl lint build/audit_v2.so --against released/audit_v2.so\n",
    .run = execute,
    .options = {{"against", "OLD.so", "compare with the released build, as compare does"}},
};
