/*
 * pgflowctl inspect FILE.so: what a flow module says of itself, read by a
 * throw-away runner, so that a module that crashes takes nothing along; and what
 * its bytes are called in a deployment manifest.
 */
#include "ctl/command.h"
#include "ctl/module_descriptor.h"
#include "ctl/plain.h"
#include "ctl/table.h"

#include "base/buf.h"
#include "module/digest.h"
#include "module/elf_image.h"
#include "module/module_bytes.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP, KIND, AFTER, QUEUE, CONDITIONS, OPTIONS, COLUMNS };

static const char *const column_names[COLUMNS] = {
    [STEP] = "step",
    [KIND] = "type",
    [AFTER] = "after",
    [QUEUE] = "queue",
    [CONDITIONS] = "condition",
    [OPTIONS] = "options",
};

struct step_cells {
    struct buf cells[COLUMNS];
};

struct steps {
    struct step_cells *items;
    size_t count;
};

/* The names of the file's bytes: hosts register them, manifests list them. */
struct identity {
    char build_id[2 * ELF_BUILD_ID_BYTES + 1]; /* "" without one */
    char sha256[DIGEST_HEX + 1];
};

static const char *member_text(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text != NULL ? text : "";
}

static void put_list(struct buf *out, const cJSON *list)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, list)
    {
        if (out->size > 0)
            buf_puts(out, ", ");
        buf_puts(out, item->valuestring != NULL ? item->valuestring : "?");
    }
}

/* "maxAttempts 5, timeout 30": what the module sets itself. */
static void put_options(struct buf *out, const cJSON *options)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, options)
    {
        if (cJSON_IsNumber(item))
            buf_printf(out, "%s%s %.0f", out->size > 0 ? ", " : "", item->string,
                       item->valuedouble);
    }
}

static void put_pattern(struct buf *out, const char *words, const cJSON *pattern)
{
    if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(pattern, "defined")))
        return;
    char *text = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(pattern, "value"));
    buf_printf(out, "%s%s %s", out->size > 0 ? ", " : "", words, text != NULL ? text : "?");
    cJSON_free(text);
}

static void put_conditions(struct buf *out, const cJSON *step)
{
    put_pattern(out, "if", cJSON_GetObjectItemCaseSensitive(step, "requiredInputPattern"));
    put_pattern(out, "unless", cJSON_GetObjectItemCaseSensitive(step, "forbiddenInputPattern"));
    if (out->size > 0)
        buf_printf(out, ", else %s", member_text(step, "whenUnmet"));
    if (strcmp(member_text(step, "whenExhausted"), "fail") != 0)
        buf_printf(out, "%sexhausted: %s", out->size > 0 ? ", " : "",
                   member_text(step, "whenExhausted"));
}

static void fill_step(struct step_cells *cells, const cJSON *step)
{
    for (size_t i = 0; i < COLUMNS; i++)
        buf_init(&cells->cells[i], LIMIT_MIB);
    buf_puts(&cells->cells[STEP], member_text(step, "slug"));
    buf_puts(&cells->cells[KIND], member_text(step, "stepType"));
    put_list(&cells->cells[AFTER], cJSON_GetObjectItemCaseSensitive(step, "dependencies"));
    buf_puts(&cells->cells[QUEUE], member_text(step, "queue"));
    put_conditions(&cells->cells[CONDITIONS], step);
    put_options(&cells->cells[OPTIONS], cJSON_GetObjectItemCaseSensitive(step, "options"));
}

static const char *name_of(const void *ctx, size_t column)
{
    (void)ctx;
    return column_names[column];
}

static const char *cell_of(const void *ctx, size_t row, size_t column)
{
    return ((const struct steps *)ctx)->items[row].cells[column].data;
}

static bool never_number(const void *ctx, size_t column)
{
    (void)ctx;
    (void)column;
    return false;
}

static void print_steps(const struct steps *steps)
{
    struct table table = {.ctx = steps,
                          .columns = COLUMNS,
                          .rows = steps->count,
                          .name = name_of,
                          .cell = cell_of,
                          .is_number = never_number};
    table_print(stdout, &table, CONDITIONS, table_width());
}

static void print_member(const char *name, const char *text, const char *otherwise)
{
    (void)fputs(name, stdout);
    plain_print(stdout, *text ? text : otherwise);
    (void)putchar('\n');
}

static bool print_module(const cJSON *module, const char *path, const struct identity *identity,
                         struct error *error)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(module, "steps");
    struct steps steps = {.count = (size_t)cJSON_GetArraySize(list)};
    struct buf options;
    steps.items = calloc(steps.count + 1, sizeof *steps.items);
    if (steps.items == NULL)
        return error_out_of_memory(error);
    for (size_t i = 0; i < steps.count; i++)
        fill_step(&steps.items[i], cJSON_GetArrayItem(list, (int)i));
    buf_init(&options, LIMIT_KIB);
    put_options(&options, cJSON_GetObjectItemCaseSensitive(module, "options"));
    print_member("file     ", path, "");
    print_member("build-id ", identity->build_id, "(none)");
    print_member("sha256   ", identity->sha256, "");
    print_member("flow     ", member_text(module, "flowSlug"), "");
    print_member("alias    ", member_text(module, "alias"), "");
    print_member("version  ", member_text(module, "version"), "(none)");
    print_member("queues   ", member_text(module, "queueMode"), "");
    print_member("options  ", options.data, "(defaults)");
    printf("\n");
    print_steps(&steps);
    buf_free(&options);
    for (size_t i = 0; i < steps.count; i++) {
        for (size_t c = 0; c < COLUMNS; c++)
            buf_free(&steps.items[i].cells[c]);
    }
    free(steps.items);
    return true;
}

static bool read_identity(struct identity *identity, const char *path, struct error *error)
{
    struct module_bytes bytes;
    struct elf_image image;
    bool ok = module_bytes_open(&bytes, path, error) &&
              elf_image_read(&image, bytes.data, bytes.size, error) &&
              digest_of(bytes.data, bytes.size, identity->sha256, error);
    if (ok)
        memcpy(identity->build_id, image.build_id, sizeof identity->build_id);
    module_bytes_close(&bytes);
    return ok || error_wrap(error, "%s", path);
}

/* The descriptor, an object on one line, with three members more at its front. */
static bool print_json(const char *descriptor, const char *path, const struct identity *identity,
                       struct error *error)
{
    struct buf name;
    buf_init(&name, LIMIT_MIB);
    buf_put_json_string(&name, path, strlen(path));
    bool ok = buf_ok(&name) || error_out_of_memory(error);
    if (ok)
        printf("{\"file\":%s,\"buildId\":\"%s\",\"sha256\":\"%s\",%.*s\n", name.data,
               identity->build_id, identity->sha256, (int)strcspn(descriptor, "\n") - 1,
               descriptor + 1);
    buf_free(&name);
    return ok;
}

static bool print_text(const char *descriptor, const char *path, const struct identity *identity,
                       struct error *error)
{
    cJSON *module = cJSON_Parse(descriptor);
    bool ok =
        module != NULL ? print_module(module, path, identity, error) : error_out_of_memory(error);
    cJSON_Delete(module);
    return ok;
}

static int execute(struct invocation *invocation, struct error *error)
{
    const char *path = invocation->arguments[0];
    struct identity identity = {0};
    char *descriptor = module_descriptor_read(path, error);
    bool printed = descriptor != NULL && read_identity(&identity, path, error) &&
                   (invocation->json ? print_json(descriptor, path, &identity, error)
                                     : print_text(descriptor, path, &identity, error));
    free(descriptor);
    return printed ? DONE : FAILED;
}

const struct command command_inspect = {
    .name = "inspect",
    .arguments = "FILE.so",
    .summary = "show what a flow module contains",
    .help = "Loads the module in a throw-away process and shows its descriptor: flow, alias,\n"
            "queue mode, and each step with its queue. With --json the whole descriptor.\n"
            "Its build-id, or else its sha256, is what a deployment manifest names it by.\n",
    .least = 1,
    .most = 1,
    .examples = "pgflowctl inspect ./audit_v2.so\n"
                "pgflowctl inspect ./audit_v2.so --json | jq -r .buildId\n",
    .run = execute,
};
